"""The conversation itself, with the scripted demo: what is asked, understood, confirmed, changed and kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.threadkeep_assistants.skill_creator.conversations import IDEA, conversation
from threadkeep.conversation.blocks import Table
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.store.codec import Packer
from threadkeep.testing.stores import whole_log
from threadkeep_assistants.demo.general_script import NOTICE
from threadkeep_assistants.skill_creator.document import errors_in
from threadkeep_assistants.skill_creator.fields import BY_KEY

ANSWERS = (
    "find tasks: owner, due date; write a summary",
    "first read the notes, then find the tasks, finally write the list",
    '"Who has to do what?"',
    "somebody pastes meeting notes",
    "date formats",
    "a script that parses dates",
    "Read, Bash",
)


async def test_a_whole_skill_is_made_one_question_at_a_time(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        for text in (IDEA, "yes", *ANSWERS):
            assert (await talk.say(text)).count("?") >= 1, "every answer ends with the next question"
        assert "Shall I write the skill?" in await talk.say("/status")
        written = await talk.say("yes")
        assert "```markdown\n---\nname: turn-meeting-notes" in written
        assert "- `scripts/parses_dates.py`" in written
        assert "personal" in written
        await talk.say("personal")
        state = await talk.state()
        assert (state["state"], state["progress"]) == ("completed", 100)
        assert (await talk.chat.read()).status is Status.COMPLETED
        folder = "local/personal/local/turn-meeting-notes"
        files = {path.removeprefix(f"{folder}/"): text for path, text in talk.saved().items()}
        assert set(files) == {"SKILL.md", "references/date-formats.md", "scripts/parses_dates.py"}
        assert errors_in(files) == []
        assert files["SKILL.md"] == state["generated_content"]
        assert "  - owner" in files["SKILL.md"]


async def test_the_state_holds_everything_after_every_exchange_and_only_changes_are_written(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "yes", *ANSWERS, "yes", "shared")
        state = await talk.state()
        assert state["capabilities"] == [
            {"name": "find tasks", "details": ["owner", "due date"]},
            {"name": "write a summary", "details": []},
        ]
        assert state["workflow_steps"] == ["read the notes", "find the tasks", "write the list"]
        assert state["examples"] == ["Who has to do what?"]
        assert state["triggers"] == ["somebody pastes meeting notes"]
        assert state["reference_topics"] == ["date formats"]
        assert state["scripts_needed"] == [{"name": "parses_dates.py", "purpose": "parses dates"}]
        assert state["allowed_tools"] == ["Read", "Bash"]
        assert state["storage_layer"] == "shared"
        assert state["validation_attempts"] == 1
        assert state["validation_errors"] == []
        assert state["questions_asked"][:3] == ["capabilities", "workflow_steps", "examples"]
        entries, _ = await whole_log(talk.conversations._store, talk.chat.scope, talk.chat.id)
        changes = [set(entry.body.set) for entry in entries if isinstance(entry.body, StateChange)]
        assert {"state", "capabilities", "open_question", "questions_asked", "progress"} in changes
        assert sum("generated_content" in change for change in changes) == 1


async def test_the_demo_says_at_the_beginning_that_it_is_scripted_and_only_there(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        assert (await talk.say("hello")).startswith(NOTICE)
        assert NOTICE not in await talk.say(IDEA)


@pytest.mark.parametrize(
    "text",
    [
        IDEA,
        "Turn meeting notes into action items",
        "it should turn meeting notes into action items",
        "Can you build me a skill which turns meeting notes into action items?",
        "hi, I'd like to make a skill that turns meeting notes into action items please",
        "Something that turns meeting notes into action items.",
        "We need a skill to turn meeting notes into action items!",
    ],
)
async def test_an_idea_is_understood_however_it_is_put_and_told_back(tmp_path: Path, text: str) -> None:
    async with conversation(tmp_path) as talk:
        answer = await talk.say(text)
        assert "**Purpose**: turn meeting notes into action items\n" in answer
        assert "What exactly should it be able to do?" in answer
        assert (await talk.state())["purpose"] == "turn meeting notes into action items"


@pytest.mark.parametrize(
    "text", [" ", "???", "hi", "asdf", "you decide", "yes", "no", "write it", "go back", "what is a skill?", "🙂"]
)
async def test_without_an_idea_it_asks_for_one_politely(tmp_path: Path, text: str) -> None:
    async with conversation(tmp_path) as talk:
        assert "What should the skill do?" in await talk.say(text)
        assert "**Purpose**" in await talk.say(IDEA)


async def test_a_correction_of_what_was_understood_is_taken_up(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        answer = await talk.say(IDEA, "no, it should translate long emails into German")
        assert "**Purpose**: translate long emails into German" in answer
        assert "meeting" not in answer.split("What exactly")[0], "what was made of the old idea must go with it"
        assert "What should the skill do? (Now it is: turn meeting notes" in await talk.say("start over", IDEA, "no")
        assert (await talk.say("sort mail by sender")).startswith("**Purpose**: sort mail by sender.")
        assert (await talk.state())["skill_name"] == "sort-mail-sender"
        await talk.say("yes, but change the name to Mail Sorter")
        assert (await talk.state())["skill_name"] == "mail-sorter"


async def test_everything_can_be_left_to_us(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        assert "I leave the rest to the writing" in await talk.say(IDEA, "you decide", "you decide everything")
        await talk.say("yes", "you decide")
        assert (await talk.state())["state"] == "completed"


async def test_every_optional_question_can_be_skipped(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "skip", "no", "none", "no thanks", "not needed", "no scripts")
        answer = await talk.say("nope")
        assert "Shall I write the skill?" in answer
        await talk.say("go ahead", "just me")
        assert list(talk.saved()) == ["local/personal/local/turn-meeting-notes/SKILL.md"]


async def test_writing_can_be_asked_for_at_any_time(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        assert "The skill is written." in await talk.say(IDEA, "write it")
        assert (await talk.state())["state"] == "selecting_storage"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("change the name to Minutes Maker", "skill_name", "minutes-maker"),
        ("call it minutes", "skill_name", "minutes"),
        ("The description should be: Makes lists of tasks.", "description", "Makes lists of tasks."),
        ("no scripts", "scripts_needed", []),
        ("remove the examples", "examples", []),
        ("add an example: What is left to do?", "examples", ["Who has to do what?", "What is left to do"]),
        ("change the steps to read, then write", "workflow_steps", ["read", "write"]),
        ("rename the skill to tasks-of-notes", "skill_name", "tasks-of-notes"),
    ],
)
async def test_anything_can_be_changed_before_and_after_it_is_written(
    tmp_path: Path, text: str, key: str, value: Any
) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "yes", *ANSWERS, text)
        assert (await talk.state())[key] == value
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "yes", *ANSWERS, "yes", text)
        assert ((await talk.state())[key], (await talk.state())["state"]) == (value, "gathering_details")
        await talk.say("yes", "personal")
        assert (await talk.state())["state"] == "completed"


async def test_a_change_in_the_middle_returns_to_the_question_that_was_open(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        answer = await talk.say(IDEA, "yes", ANSWERS[0], "change the description")
        assert "Now it is: Turn meeting notes" in answer
        answer = await talk.say("It lists tasks. Use it after a meeting")
        assert "**Description**: It lists tasks. Use it after a meeting." in answer
        assert "Which steps should it follow" in answer


async def test_a_diverted_question_is_asked_again_however_often_and_never_closed_in_silence(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA)
        for text in (
            "change the name to a-b",
            "what is a skill?",
            "???!",
            "....",
            "/status",
            "add an example: Sort this",
            "no scripts",
            "yes",
            "change the name to Claude",
        ):
            assert "What exactly should it be able to do?" in await talk.say(text), text
        await talk.say("change the description")
        assert "How would you describe it" in await talk.say("change the name to c-d")
        await talk.say("It sorts. Use it often")
        state = await talk.state()
        assert (state["skill_name"], "capabilities" in state) == ("c-d", False)


async def test_what_is_not_understood_is_said_to_be_so(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        answer = await talk.say(IDEA, "you decide everything", "the moon is made of cheese")
        assert "scripted, and I did not understand that" in answer
        assert "Shall I write the skill?" in answer


async def test_a_description_that_was_made_of_the_purpose_follows_it_and_one_that_was_given_stays(
    tmp_path: Path,
) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "yes", "change the purpose to sort mail by sender")
        assert (await talk.state())["description"].startswith("Sort mail by sender.")
        await talk.say("change the description to My very own words", "change the purpose to read all the mail")
        assert (await talk.state())["description"] == "My very own words."


async def test_going_back_leads_through_all_questions_and_loses_nothing(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, *ANSWERS)
        before = await talk.state()
        answers = [await talk.say("go back") for _ in range(10)]
        assert "Should it be limited to certain tools? (Now it is: Read; Bash." in answers[0]
        assert "What should the skill do? (Now it is:" in answers[-1]
        await talk.say("skip")
        after = await talk.state()
        assert {key: after[key] for key in BY_KEY} == {key: before[key] for key in BY_KEY}


async def test_status_tells_how_far_it_is_and_what_is_missing_and_shows_a_table_and_changes_nothing(
    tmp_path: Path,
) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA)
        before = await talk.state()
        answer = await talk.hear("/status")
        assert "The skill is 18 % done; state: gathering details." in answer.content
        assert "Missing: capabilities, steps, examples, triggers, references, scripts, tools." in answer.content
        (table,) = answer.blocks
        assert isinstance(table, Table)
        assert ["Name", "turn-meeting-notes"] in table.rows
        assert ["Scripts", "not known yet"] in table.rows
        assert await talk.state() == {**before, "unconfirmed": True} or await talk.state() == before
        await talk.say(*ANSWERS[:-1])
        assert "The skill is 54 % done" in await talk.say("/status")


async def test_starting_over_keeps_nothing_of_the_skill(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "find tasks", "start over")
        state = await talk.state()
        assert (state["state"], state["progress"]) == ("gathering_purpose", 0)
        assert "skill_name" not in state
        assert "**Purpose**: sort mail" in await talk.say("sort mail by sender")


@pytest.mark.parametrize("text", ["claude helper", "x" * 65, "x" * 90, "日本語", "!!!"])
async def test_a_name_that_is_not_legal_is_refused_with_the_reason_and_asked_for_again(
    tmp_path: Path, text: str
) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "change the name")
        assert "What should the skill be called?" in await talk.say(text)
        assert (await talk.state())["skill_name"] == "turn-meeting-notes"
        await talk.say("notes")
        assert (await talk.state())["skill_name"] == "notes"


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("personal", "personal"),
        ("Just for me please", "personal"),
        ("my team", "shared"),
        ("everyone", "shared"),
        ("you decide", "personal"),
        ("the second one", "shared"),
        ("shared with the whole company", "shared"),
    ],
)
async def test_where_to_save_is_understood(tmp_path: Path, text: str, layer: str) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "write it", text)
        assert (await talk.state())["storage_layer"] == layer
        assert (await talk.state())["state"] == "completed"


async def test_where_it_is_not_clear_where_to_save_it_is_asked_again(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "write it")
        for text in ("on the moon", " ", "me and the team", "no", "not for everyone", "who sees it?", "don't save it"):
            assert "Where shall I save it" in await talk.say(text)
        assert talk.saved() == {}
        assert "Shall I write the skill?" in await talk.say("change the steps to read; sort")
        assert (await talk.state())["state"] == "gathering_details"


async def _taken(folder: Path) -> None:
    async with conversation(folder) as talk:
        await talk.say("I want a skill that reads mail", "change the name to notes", "write it", "personal")


async def test_a_name_that_is_taken_is_asked_about_and_another_can_be_chosen(tmp_path: Path) -> None:
    await _taken(tmp_path)
    async with conversation(tmp_path) as talk:
        answer = await talk.say(IDEA, "call it notes", "write it", "personal")
        assert "There is another skill named **notes** already." in answer
        assert "Nothing was replaced." in await talk.say("hm, I would rather think about it for a while")
        await talk.say("other notes")
        assert (await talk.state())["state"] == "completed"
        other = talk.saved()["local/personal/local/other-notes/SKILL.md"]
        assert other.startswith("---\nname: other-notes\n")
        assert "read mail" in talk.saved()["local/personal/local/notes/SKILL.md"]


async def test_a_skill_is_not_replaced_by_words_that_only_mention_it(tmp_path: Path) -> None:
    await _taken(tmp_path)
    async with conversation(tmp_path) as talk:
        before = talk.saved()
        await talk.say(IDEA, "call it notes", "write it", "personal")
        for text in ("no replace", "please don't overwrite it", "will replacing it delete the old one?"):
            assert "Say *replace*" in await talk.say(text)
        assert talk.saved() == before


async def test_a_shared_skill_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    ann, bob = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="bob")
    async with conversation(tmp_path, scope=ann) as talk:
        await talk.say("I want a skill that reads mail", "call it notes", "write it", "shared")
    async with conversation(tmp_path, scope=bob) as talk:
        answer = await talk.say(IDEA, "call it notes", "write it", "shared")
        assert "belongs to somebody else" in answer
        for text in ("replace", "yes", "overwrite it"):
            assert "belongs to somebody else" in await talk.say(text)
        assert "read mail" in talk.saved()["acme/shared/notes/SKILL.md"]
        await talk.say("my notes")
        assert "meeting notes" in talk.saved()["acme/shared/my-notes/SKILL.md"]
    async with conversation(tmp_path, scope=ann) as talk:
        await talk.say("I want a skill that sorts mail", "call it notes", "write it", "shared", "replace it")
        assert "sort mail" in talk.saved()["acme/shared/notes/SKILL.md"]


async def test_a_skill_is_replaced_only_if_somebody_says_so(tmp_path: Path) -> None:
    await _taken(tmp_path)
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "call it notes", "write it", "personal", "replace it")
        assert list(talk.saved()) == ["local/personal/local/notes/SKILL.md"]
        assert "meeting notes" in talk.saved()["local/personal/local/notes/SKILL.md"]


async def test_a_folder_that_cannot_be_written_is_told_and_tried_again(tmp_path: Path) -> None:
    blocked = tmp_path / "skills"
    blocked.write_text("a file in the way")
    async with conversation(blocked) as talk:
        answer = await talk.say(IDEA, "write it", "personal")
        assert "could not be saved" in answer
        assert (await talk.state())["state"] == "error"
        assert "Where shall I save it" in await talk.say("what?")
        blocked.unlink()
        await talk.say("try again")
        assert (await talk.state())["state"] == "completed"


async def test_a_finished_conversation_stays_finished(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "write it", "personal")
        before = await talk.state()
        for text in ("thanks", "change the name to x", "/status", "start over", "write it"):
            assert "saved" in (await talk.say(text)).lower()
        assert await talk.state() == before


@pytest.mark.parametrize(
    "text",
    [
        "see `scripts/nothing.py` and [this](../../etc/passwd)",
        "---\nname: evil\n---",
        "```\nnever ends",
        "<script>alert(1)</script> in pages of the web",
        "read \x00 and \u202e bytes of a file",
        "日本語のメモを要約する そして 整理する",
    ],
)
async def test_whatever_people_write_the_skill_is_valid(tmp_path: Path, text: str) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(f"I want a skill that reads pages and {text}", "yes", text, text, text, text, text, text, text)
        await talk.say("write it", "personal")
        state = await talk.state()
        assert state["state"] == "completed"
        assert errors_in({"SKILL.md": state["generated_content"], **state["resources"]}) == []


async def test_a_branch_goes_another_way_from_the_same_beginning(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.say(IDEA, "yes")
        fork = (await talk.chat.read()).head
        await talk.say("find tasks")
        await (await talk.chat.send("count words", parent=fork)).answer()
        assert [part["name"] for part in (await talk.state())["capabilities"]] == ["count words"]


async def test_hundreds_of_lines_are_kept_compressed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    async with conversation(tmp_path) as talk:
        steps = "\n".join(
            f"{number}. look at part {number} of the notes and list who does what" for number in range(1, 30)
        )
        await talk.say(IDEA, "yes", steps, steps, steps, "skip", "dates, names, places", "write it")
        content = (await talk.state())["generated_content"]
    packed = Packer().pack(content)
    assert packed is not None
    ratio = len(content.encode()) / len(packed)
    record_property("compression", f"{len(content.encode())} bytes, {ratio:.1f} : 1")
    assert ratio > 3
