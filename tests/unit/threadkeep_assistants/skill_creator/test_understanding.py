"""Understanding by rules: what a message wants, purposes in free words, answers as values; and that it stays quick."""

from contextlib import suppress
from typing import Any

import pytest

from tests.unit.threadkeep_assistants.long_inputs import slow_inputs
from threadkeep_assistants.skill_creator.fields import BY_KEY, name_error, slug, suggested_name
from threadkeep_assistants.skill_creator.understanding import Intent, Unusable, base_form, read, understood, value_of

WANTED: dict[str, str] = {
    "yes": "yes|Yes!|y|ok|sure|that's right|Correct|👍|yes please|ok thanks|yes, that’s right",
    "no": "no|Nope.|nah|not really|that's wrong|👎",
    "skip": "skip|pass|none|no thanks|not needed|you decide|I don't know|not sure",
    "decide all": "you decide everything|You decide the rest",
    "status": "/status|what's missing?|where are we?|status please",
    "help": "help|???|continue|thanks!|hello there|cancel",
    "back": "go back|undo",
    "restart": "start over|forget everything",
    "write": "write it|That's all|go ahead",
    "again": "try again",
    "template": "use the template",
    "asks": "what is a skill?|is my data safe?|why?|I don't understand|hi, how long will this take?",
    "nothing": "|   |...|!!!|---|aaaaaaa|🙂🙂",
}


@pytest.mark.parametrize(("text", "name"), [(text, name) for name, cell in WANTED.items() for text in cell.split("|")])
def test_what_a_message_wants(text: str, name: str) -> None:
    assert read(text).name == name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("change the description", Intent("change", key="description")),
        ("Can you change the triggers?", Intent("change", key="triggers")),
        ("Change the name to Meeting Notes", Intent("change", "Meeting Notes", "skill_name")),
        ("the description should be: It sorts mail", Intent("change", "It sorts mail", "description")),
        ("name: mail-sorter", Intent("change", "mail-sorter", "skill_name")),
        ("the name is mail-sorter", Intent("change", "mail-sorter", "skill_name")),
        ("call it minutes-maker", Intent("change", "minutes-maker", "skill_name")),
        ("rename the skill to x", Intent("change", "x", "skill_name")),
        ("I'd like to change the steps to read, then write", Intent("change", "read, then write", "workflow_steps")),
        ("add an example: Sort this", Intent("add", "Sort this", "examples")),
        ("add another trigger", Intent("add", key="triggers")),
        ("no scripts", Intent("clear", key="scripts_needed")),
        ("No scripts needed.", Intent("clear", key="scripts_needed")),
        ("remove the examples", Intent("clear", key="examples")),
        ("the triggers are: a link is pasted", Intent("change", "a link is pasted", "triggers")),
        ("yes, but change the name to foo", Intent("yes", "change the name to foo")),
        ("No, it should sort mail", Intent("no", "it should sort mail")),
    ],
)
def test_changes(text: str, wanted: Intent) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "change the name of files in a folder to lowercase",
        "It writes the description of a product",
        "status reports",
        "no-code apps are explained",
        "yesterday's mail is sorted",
        "steps are taken by a person",
        "skip the header lines of a file",
        "when somebody asks",
    ],
)
def test_words_that_only_look_like_a_command_are_an_answer(text: str) -> None:
    assert read(text) == Intent("said", text)


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        ("I want a skill that turns meeting notes into action items", "turn meeting notes into action items"),
        ("I need a skill to review pull requests, please.", "review pull requests"),
        ("Can you make a skill which checks invoices against orders?", "check invoices against orders"),
        ("Let's create a new skill for onboarding new employees", "help with onboarding new employees"),
        ("something that helps me review pull requests", "review pull requests"),
        ("Help me write commit messages", "write commit messages"),
        ("it should translate emails", "translate emails"),
        ("Summarise legal contracts", "summarise legal contracts"),
        ("Hello! I'd like to build a skill called x-ray that reads scans", "read scans"),
        ("something for git commits", "help with git commits"),
        ("for reviewing pull requests", "help with reviewing pull requests"),
        ("A skill for SQL reviews", "help with SQL reviews"),
        ("Could you help me write release notes?", "write release notes"),
        ("I'd like something that drafts polite replies", "draft polite replies"),
        ("I have an idea for a skill about cooking", "help with cooking"),
    ],
)
def test_a_purpose_is_found_behind_what_people_say_before_it(text: str, purpose: str) -> None:
    assert understood(text)["purpose"] == purpose


@pytest.mark.parametrize(
    "text", ["hi", "hello there", "create a skill", "I want to create a skill", "invoices", "asdf"]
)
def test_where_there_is_no_purpose_none_is_made_up(text: str) -> None:
    assert "purpose" not in understood(text)


def test_a_name_and_a_script_are_understood_along_with_the_purpose() -> None:
    told = understood(
        "Make me a skill which converts CSV to JSON, named csv-to-json, it needs a script that reads CSV."
    )
    assert told == {
        "purpose": "convert CSV to JSON",
        "skill_name": "csv-to-json",
        "scripts_needed": [{"name": "reads_csv.py", "purpose": "reads CSV"}],
    }
    assert understood('I want a skill called "Release Notes" for writing notes')["skill_name"] == "release-notes"


@pytest.mark.parametrize(
    ("name", "is_legal"),
    [
        ("meeting-notes", True),
        ("a1", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("Meeting", False),
        ("a--b", False),
        ("-a", False),
        ("a_b", False),
        ("../a", False),
        ("my-claude-helper", False),
        ("nul", False),
        ("com1", False),
    ],
)
def test_names_follow_the_rules(name: str, is_legal: bool) -> None:
    assert (name_error(name) is None) is is_legal


@pytest.mark.parametrize("text", ["Meeting Notes!", "ünïcode things", "../../etc/passwd", "a" * 500, "C:\\windows"])
def test_whatever_is_said_becomes_a_legal_name_or_none(text: str) -> None:
    name = slug(text)
    assert name == "" or name_error(name) is None
    assert name_error(suggested_name(text)) is None


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("reference_topics", "dates, tone of voice and units", ["dates", "tone of voice", "units"]),
        ("workflow_steps", "first read, then write, finally check", ["read", "write", "check"]),
        ("workflow_steps", "1. read\n2) write\n- check", ["read", "write", "check"]),
        ("workflow_steps", "read -> write", ["read", "write"]),
        (
            "capabilities",
            "find tasks: owner, due date; write a summary",
            [{"name": "find tasks", "details": ["owner", "due date"]}, {"name": "write a summary", "details": []}],
        ),
        ("scripts_needed", "a script that parses dates", [{"name": "parses_dates.py", "purpose": "parses dates"}]),
        ("scripts_needed", "clean.sh: removes blanks", [{"name": "clean.sh", "purpose": "removes blanks"}]),
        ("allowed_tools", "only Read, Grep and Bash(git:*)", ["Read", "Grep", "Bash(git:*)"]),
        ("triggers", "when somebody pastes notes; if asked", ["somebody pastes notes", "asked"]),
        ("skill_name", "My Notes", "my-notes"),
        ("description", "sorts <b>mail</b> well", "Sorts bmail/b well."),
    ],
)
def test_answers_become_values(key: str, text: str, value: Any) -> None:
    assert value_of(BY_KEY[key], text) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("skill_name", "claude helper"),
        ("skill_name", "!!!"),
        ("description", "x" * 20 + " y" * 1100),
        ("purpose", "mail"),
        ("examples", "..."),
        ("capabilities", "???"),
        ("allowed_tools", "some of the usual ones"),
    ],
)
def test_what_cannot_be_a_value_is_told_why(key: str, text: str) -> None:
    with pytest.raises(Unusable, match=r"\w+"):
        value_of(BY_KEY[key], text)


def test_verbs_are_turned_to_fit() -> None:
    assert [base_form(f"{verb} it") for verb in ("turns", "does", "tries", "watches", "discusses")] == [
        "turn it",
        "do it",
        "try it",
        "watch it",
        "discuss it",
    ]


@pytest.mark.parametrize("lead", ["", "change the name to ", "I want a skill that ", "it needs a script "])
def test_long_inputs_of_any_kind_are_read_quickly(lead: str) -> None:
    assert slow_inputs(read, lead) == []
    assert slow_inputs(understood, lead, "x") == []


@pytest.mark.parametrize("key", BY_KEY)
def test_long_answers_of_any_kind_are_read_quickly(key: str) -> None:
    def answered(text: str) -> None:
        with suppress(Unusable):
            value_of(BY_KEY[key], text)

    assert slow_inputs(answered) == []
