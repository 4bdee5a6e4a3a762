"""Understanding free words by rules: purposes, names, signs, steps, lists; and what is made of them."""

from typing import Any

import pytest

from threadkeep_assistants.skill_creator.fields import BY_KEY
from threadkeep_assistants.skill_creator.naming import name_error, slug, suggested_name
from threadkeep_assistants.skill_creator.phrasing import base_form, third_person
from threadkeep_assistants.skill_creator.proposals import derived, proposed
from threadkeep_assistants.skill_creator.reading import Unusable, nested, short_items, steps, value_of
from threadkeep_assistants.skill_creator.understanding import understood


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
        ("we need a code review skill", "help with code review"),
        ("Hello! I'd like to build a skill called x-ray that reads scans", "read scans"),
        ("I dunno, something for git commits maybe", "help with git commits"),
        ("for reviewing pull requests", "help with reviewing pull requests"),
        ("A skill for SQL reviews", "help with SQL reviews"),
        ("Could you help me write release notes?", "write release notes"),
        ("I'd like something that drafts polite replies", "draft polite replies"),
        ("I have an idea for a skill about cooking", "help with cooking"),
        ("It should summarise PDFs and it should be called pdf-sum", "summarise PDFs"),
    ],
)
def test_a_purpose_is_found_behind_what_people_say_before_it(text: str, purpose: str) -> None:
    assert understood(text)["purpose"] == purpose


@pytest.mark.parametrize(
    "text", ["hi", "hello there", "create a skill", "I want to create a skill", "invoices", "asdf"]
)
def test_where_there_is_no_purpose_none_is_made_up(text: str) -> None:
    assert "purpose" not in understood(text)


def test_everything_that_one_message_tells_is_understood() -> None:
    found = understood(
        'I want a skill called "release-notes" for writing release notes from git commits. Use it when a release is '
        "tagged. It needs a script to collect the commits. First read the log, then group the commits, finally write "
        'the notes. Only uses Read and Bash. For example: "write the notes of 1.2"'
    )
    assert found == {
        "purpose": "help with writing release notes from git commits",
        "skill_name": "release-notes",
        "triggers": ["a release is tagged"],
        "scripts_needed": [{"name": "collect_the_commits.py", "purpose": "collect the commits"}],
        "workflow_steps": ["read the log", "group the commits", "write the notes"],
        "allowed_tools": ["Read", "Bash"],
        "examples": ["write the notes of 1.2"],
    }


def test_a_sentence_that_tells_a_part_may_tell_the_purpose_before_it() -> None:
    told = understood("Make me a skill which converts CSV to JSON, named csv-to-json, it needs a script that reads CSV")
    assert told == {
        "purpose": "convert CSV to JSON",
        "skill_name": "csv-to-json",
        "scripts_needed": [{"name": "reads_csv.py", "purpose": "reads CSV"}],
    }


def test_what_is_done_first_may_stand_before_the_word() -> None:
    told = understood("We always apologise first, then explain, then offer a refund.")
    assert told["workflow_steps"] == ["apologise", "explain", "offer a refund"]


def test_bullets_are_capabilities_and_numbers_are_steps() -> None:
    assert (
        understood("It should translate emails\n- keep the tone\n- keep names")["capabilities"][1]["name"]
        == "keep names"
    )
    assert understood("It should sort mail\n1. open it\n2. read it")["workflow_steps"] == ["open it", "read it"]


def test_name_and_description_are_made_of_the_purpose_only_where_they_are_missing() -> None:
    assert derived({"purpose": "sort mail by sender"}) == {
        "skill_name": "sort-mail-sender",
        "description": "Sorts mail by sender. Use it when the user wants to sort mail by sender.",
    }
    assert derived({"purpose": "sort mail", "skill_name": "x", "description": "y"}) == {}


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


def test_lists_are_read_however_they_are_written() -> None:
    assert short_items("dates, tone of voice and units") == ["dates", "tone of voice", "units"]
    assert steps("first read, then write, finally check") == ["read", "write", "check"]
    assert steps("1. read\n2) write\n- check") == ["read", "write", "check"]
    assert steps("read -> write") == ["read", "write"]


def test_capabilities_are_nested() -> None:
    found = [{"name": "find tasks", "details": ["owner", "due date"]}, {"name": "write a summary", "details": []}]
    assert nested("find tasks: owner, due date; write a summary") == found
    assert nested("- find tasks\n  - owner\n  - due date\n- write a summary") == found
    assert nested("it can find tasks and write a summary")[1]["name"] == "write a summary"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
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
        ("allowed_tools", "well, some of the usual ones"),
    ],
)
def test_what_cannot_be_a_value_is_told_why(key: str, text: str) -> None:
    value = value_of(BY_KEY[key], text)
    assert isinstance(value, Unusable)
    assert value.why.endswith(".")


def test_verbs_are_turned_to_fit() -> None:
    assert [base_form(f"{verb} it") for verb in ("turns", "does", "tries", "watches", "discusses")] == [
        "turn it",
        "do it",
        "try it",
        "watch it",
        "discuss it",
    ]
    assert third_person("try it") == "tries it"
    assert third_person("reviewing code") == "helps with reviewing code"


def test_what_we_propose_is_made_of_what_is_known() -> None:
    values = {"purpose": "find tasks and write summaries"}
    assert [part["name"] for part in proposed("capabilities", values)] == ["find tasks", "write summaries"]
    assert proposed("triggers", values) == ["the user wants to find tasks and write summaries"]
    assert proposed("reference_topics", values) == proposed("scripts_needed", values) == []
