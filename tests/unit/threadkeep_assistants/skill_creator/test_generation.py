"""With a model: it understands and writes, and nothing that it says is trusted; when it fails, nothing is lost."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.told import name_of
from tests.unit.threadkeep_assistants.skill_creator.conversations import Conversation, Thinking, conversation
from tests.unit.turn.processes import called, ended
from threadkeep.conversation.message import Role
from threadkeep.errors import ModelNonsense, ModelRefused, ModelUnavailable
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import Step, says
from threadkeep_assistants.skill_creator.document import errors_in
from threadkeep_assistants.skill_creator.generation import Limits, checked_facts, json_in

SAID = (
    "We lose track after meetings. I want something for our notes that finds tasks with owner and due date, "
    "whenever somebody pastes notes. It has to know about date formats."
)
UNDERSTOOD = {
    "purpose": "find tasks in notes after meetings",
    "capabilities": [{"name": "find tasks", "details": ["owner", "due date"]}],
    "triggers": ["somebody pastes notes"],
    "reference_topics": ["date formats"],
}
BODY = "# Tasks\n\nFind the tasks.\n\nSee [dates](references/date-formats.md).\n\n## Steps\n\n1. Read.\n2. List.\n"
SKILL = {"body": BODY, "files": {"references/date-formats.md": "Use ISO 8601.\n"}}
BROKEN = {"body": BODY + "\nAnd [more](references/made-up.md).\n", "files": {}}


def answers(told: Any) -> list[Step]:
    return says(f"Sure, here it is:\n```json\n{json.dumps(told)}\n```")


async def written_by(talk: Conversation) -> str:
    return await talk.say(SAID, "yes", "write it")


async def test_a_model_understands_more_and_what_it_understood_is_confirmed(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD))
    async with conversation(tmp_path, model) as talk:
        answer = await talk.hear(SAID)
        assert "**Capabilities**: find tasks (owner, due date)" in answer.content
        assert "**References**: date formats" in answer.content
        state = await talk.state()
        assert state["triggers"] == ["somebody pastes notes"]
        assert state["inference_attempts"] == 1
        assert {"kind": "inference", "attempt": 1, "by": "model", "found": sorted(UNDERSTOOD)} in answer.tool_trace
        assert answer.usage is not None
    assert SAID in model.requests[0].messages[-1].content


async def test_a_model_writes_the_body_and_the_files_and_the_front_matter_is_ours(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        await written_by(talk)
        await talk.say("shared")
        files = talk.saved()
        document = files["local/shared/find-tasks-notes/SKILL.md"]
        assert document.startswith("---\nname: find-tasks-notes\ndescription: ")
        assert document.endswith(BODY)
        assert files["local/shared/find-tasks-notes/references/date-formats.md"] == "Use ISO 8601.\n"
    assert "references/date-formats.md" in model.requests[1].messages[0].content


async def test_what_is_wrong_goes_back_to_the_model(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), answers(BROKEN), answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        assert "at attempt 2" in await written_by(talk)
        assert (await talk.state())["validation_attempts"] == 2
    assert "made-up.md leads to no file" in model.requests[2].messages[-1].content


async def test_what_stays_wrong_is_mended_after_the_last_attempt_and_told(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), *[answers(BROKEN)] * 3)
    async with conversation(tmp_path, model) as talk:
        answer = await written_by(talk)
        assert "This was wrong, and I mended it" in answer
        assert "made-up.md" in answer
        state = await talk.state()
        assert "And more." in state["generated_content"]
        assert errors_in({"SKILL.md": state["generated_content"], **state["resources"]}) == []


async def test_what_cannot_be_mended_returns_to_the_details_with_the_errors_and_everything_else(tmp_path: Path) -> None:
    endless = {"body": "line\n" * 700, "files": {}}
    model = Thinking(answers(UNDERSTOOD), *[answers(endless)] * 3)
    async with conversation(tmp_path, model) as talk:
        answer = await written_by(talk)
        assert "500 lines" in answer
        assert "Nothing is lost" in answer
        state = await talk.state()
        assert (state["state"], state["purpose"]) == ("gathering_details", UNDERSTOOD["purpose"])
        assert state["capabilities"] == UNDERSTOOD["capabilities"]
        assert "500 lines" in await talk.say("/status")
        assert "The skill is written." in await talk.say("use the template")
        await talk.say("personal")
        assert (await talk.state())["state"] == "completed"


FAILURES: dict[str, list[Sequence[Step]]] = {
    "refused": [[ModelRefused("no key")]],
    "away": [[ModelUnavailable("away")]] * 3,
    "away in the middle": [[Text('{"body": "# A'), ModelUnavailable("away")]] * 3,
    "broke off": [[Text('{"body": "# A')]] * 3,
    "prose": [says("I would love to help you with that skill!")] * 3,
    "broken JSON": [says('{"body": "# A, "files": {')] * 3,
    "a list": [says('["body"]')] * 3,
    "wrong types": [says('{"body": ["# A"], "files": "none"}')] * 3,
    "nothing": [[Stopped("stop")]] * 3,
}


@pytest.mark.parametrize("played", FAILURES.values(), ids=FAILURES.keys())
async def test_a_model_that_fails_while_writing_returns_to_the_details_with_nothing_lost(
    tmp_path: Path, played: list[Sequence[Step]]
) -> None:
    model = Thinking(answers(UNDERSTOOD), *played, answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        await talk.say(SAID, "yes")
        before = await talk.state()
        answer = await talk.say("write it")
        assert "Nothing is lost" in answer
        after = await talk.state()
        assert after["state"] == "gathering_details"
        kept = {key for key in before if key not in ("open_question", "state")}
        assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
        assert "The skill is written." in await talk.say("try again")
        await talk.say("personal")
        assert (await talk.state())["state"] == "completed"


async def test_one_failure_in_between_is_not_even_noticed(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), [Text("{"), ModelUnavailable("away")], answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        assert "The skill is written." in await written_by(talk)


async def test_a_model_that_never_ends_is_stopped(tmp_path: Path) -> None:
    endless = [Text("x" * 1000) for _ in range(200)]
    model = Thinking(answers(UNDERSTOOD), *[endless] * 3)
    async with conversation(tmp_path, model, Limits(silence=5, characters=50_000, pauses=(0.0,))) as talk:
        assert "did not come to an end" in await written_by(talk)
    assert model.closed[1:] == [True] * 3, "a model that is not listened to any more must be hung up"


async def test_a_model_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), *[[asyncio.Event()]] * 3)
    async with conversation(tmp_path, model, Limits(silence=0.05, pauses=(0.0,))) as talk:
        assert "said nothing for" in await written_by(talk)


@pytest.mark.parametrize(
    "played",
    [
        [ModelUnavailable("away")],
        says("I see!"),
        says("{]"),
        [Text("{")],
        says('{"purpose": 3, "triggers": "x", "a": 1}'),
    ],
)
async def test_where_a_model_does_not_understand_the_rules_do(tmp_path: Path, played: list[Step]) -> None:
    model = Thinking(played)
    async with conversation(tmp_path, model) as talk:
        answer = await talk.say("I want a skill that turns meeting notes into action items")
        assert "**Purpose**: turn meeting notes into action items" in answer


async def test_an_answer_to_one_question_that_tells_about_another_part_too_is_taken_up(tmp_path: Path) -> None:
    more = {"capabilities": [{"name": "list tasks", "details": []}], "scripts_needed": ["a script that parses dates"]}
    model = Thinking(answers(UNDERSTOOD | {"capabilities": []}), answers(more))
    async with conversation(tmp_path, model) as talk:
        answer = await talk.say(SAID, "yes", "it should list tasks, and a script that parses dates is needed")
        assert "**Capabilities**: list tasks" in answer
        assert "**Scripts**: parses_dates.py" in answer


async def test_a_clarification_that_fits_no_part_reaches_the_model_after_a_failure(tmp_path: Path) -> None:
    clarified = "mind that our notes are always written in the dialect of Bern"
    model = Thinking(answers(UNDERSTOOD), [ModelRefused("no key")], answers({"none": 1}), answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        assert "Nothing is lost" in await talk.say(SAID, "write it")
        assert "the model will see it" in await talk.say(clarified)
        assert "The skill is written." in await talk.say("try again")
    asked = model.requests[-1].messages
    assert any(clarified in message.content for message in asked if message.role is Role.USER)
    assert any(SAID in message.content for message in asked), "every call sees the conversation"
    assert '"purpose": "find tasks in notes after meetings"' in asked[-1].content
    for request in model.requests:
        roles = [message.role for message in request.messages]
        assert roles == [Role.SYSTEM, *([Role.USER, Role.ASSISTANT] * 9)[: len(roles) - 1]], "every provider accepts it"


async def test_what_a_model_sees_is_bounded_and_the_task_is_always_there(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), answers(SKILL))
    model.window = 600
    async with conversation(tmp_path, model) as talk:
        await talk.say(SAID, "/status", "write it")
    assert SAID not in str(model.requests[1].messages)
    assert "Write the skill." in model.requests[1].messages[-1].content


async def test_what_the_creator_asks_the_model_is_in_the_debug_log_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "threadkeep.turn.steps.generate")
    model = Thinking(answers(UNDERSTOOD), answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        await talk.say(SAID, "write it")
    for request in model.requests:
        assert f"system, {len(request.messages[0].content)} characters" in caplog.text
        assert f"user, {len(request.messages[-1].content)} characters" in caplog.text
    assert "lose track" not in caplog.text


async def test_short_answers_are_not_given_to_a_model(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD))
    async with conversation(tmp_path, model) as talk:
        await talk.say(SAID, "yes", "read, then list", "you decide", "ok")
        assert (await talk.state())["inference_attempts"] == 1


async def test_what_was_stopped_while_it_was_written_goes_on_from_the_details(tmp_path: Path) -> None:
    model = Thinking(answers(UNDERSTOOD), [Text("{"), asyncio.Event()], answers(SKILL))
    async with conversation(tmp_path, model) as talk:
        await talk.say(SAID, "yes")
        turn = await talk.chat.send("write it")
        await called(model, 2)
        await talk.chat.cancel()
        assert name_of(await ended(turn)) == "turn.cancelled"
        assert (await talk.state())["state"] == "generating"
        answer = await talk.say("/status")
        assert "The writing was stopped" in answer
        assert "state: gathering details" in answer
        assert "The skill is written." in await talk.say("write it")


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({"skill_name": "notes-tasks"}, {"skill_name": "notes-tasks"}),
        ({"skill_name": "../../etc"}, {}),
        ({"skill_name": "gandalf-the-grey"}, {}),
        ({"purpose": "conquer the world with robots"}, {}),
        ({"purpose": ["notes"]}, {}),
        ({"evil": "notes", "state": "completed", "saved_to": "/"}, {}),
        ({"triggers": ["somebody pastes notes", 3, None]}, {"triggers": ["somebody pastes notes"]}),
        (
            {"capabilities": ["find tasks", {"name": 3}, {"x": 1}]},
            {"capabilities": [{"name": "find tasks", "details": []}]},
        ),
        (
            {"scripts_needed": [{"name": "../evil.py", "purpose": "finds tasks"}]},
            {"scripts_needed": [{"name": "finds_tasks.py", "purpose": "finds tasks"}]},
        ),
        ({"scripts_needed": "all", "allowed_tools": {"a": 1}}, {}),
    ],
)
def test_of_what_a_model_understood_only_what_was_said_and_is_legal_is_kept(
    found: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert checked_facts(found, SAID) == kept


def test_json_is_found_in_whatever_stands_around_it() -> None:
    assert json_in('Sure! {"a": 1} Anything else?') == {"a": 1}
    assert json_in('```json\n{"a": "two\nlines"}\n```') == {"a": "two\nlines"}
    for text in ("", "no", "{", "[1]", "{" * 10_000, '{"a":' * 5_000):
        with pytest.raises(ModelNonsense):
            json_in(text)
