"""The files of a skill: front matter that reads back, a template that is valid, a validator that finds faults."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.threadkeep_assistants.long_inputs import slow_inputs
from threadkeep.errors import InvalidValue, ModelNonsense
from threadkeep_assistants.skill_creator.document import (
    MAIN,
    MAX_FRONT_MATTER,
    MAX_LINES,
    derived,
    document,
    errors_in,
    mended,
    parted,
    path_error,
    templated_body,
    templated_resources,
)
from threadkeep_assistants.skill_creator.generation import files_of

VALUES: dict[str, Any] = {
    "purpose": "turn meeting notes into action items",
    "skill_name": "meeting-notes",
    "description": 'Turns notes into tasks: "who does what". Use it when notes are pasted # really.',
    "capabilities": [{"name": "find tasks", "details": ["owner", "due date"]}],
    "reference_topics": ["Date formats"],
    "scripts_needed": [{"name": "parse_dates.py", "purpose": "parse dates"}, {"name": "clean.sh", "purpose": "clean"}],
    "allowed_tools": ["Read", "Bash(git:*)"],
}


def files(body: str = "# Notes\n\nDo it.", **others: str) -> dict[str, str]:
    return {MAIN: document({"skill_name": "notes", "description": "Does it."}, body), **others}


def test_the_template_makes_a_valid_skill_with_everything_that_was_said() -> None:
    resources = templated_resources(VALUES)
    made = {MAIN: document(VALUES, templated_body(VALUES)), **resources}
    assert errors_in(made) == []
    assert set(resources) == {"references/date-formats.md", "scripts/parse_dates.py", "scripts/clean.sh"}
    fields, body = parted(made[MAIN])
    assert fields == {
        "name": "meeting-notes",
        "description": VALUES["description"],
        "allowed-tools": "Read, Bash(git:*)",
    }
    assert "  - owner" in body
    compile(resources["scripts/parse_dates.py"], "parse_dates.py", "exec")


def test_the_template_needs_no_more_than_purpose_name_and_description() -> None:
    values = {key: VALUES[key] for key in ("purpose", "skill_name", "description")}
    assert errors_in({MAIN: document(values, templated_body(values))}) == []


@given(st.text(max_size=200).filter(lambda text: text == text.strip()))
def test_every_text_reads_back_from_the_front_matter_as_it_was_written(text: str) -> None:
    fields, body = parted(document({"skill_name": "a", "description": text}, "Body"))
    assert fields["description"] == text
    assert body == "Body"


def test_the_front_matter_that_other_programs_write_is_read_too() -> None:
    document = (
        "---\n# a remark\nname: 'it''s'\ndescription: >\n  two\n  lines\nallowed-tools:\n  - Read\n  - Grep\n---\nBody"
    )
    assert parted(document)[0] == {"name": "it's", "description": "two lines\n", "allowed-tools": ["Read", "Grep"]}


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("# No front matter", "between a first line"),
        ("---\nname: a", "between a first line"),
        ("---\nname: a\nname: b\n---", "twice"),
        ('---\nname: "a\n---', "not YAML"),
        ("---\nname: a: b\n---", "not YAML"),
        ("---\nname: &a x\ndescription: *a\n---", "anchors or aliases"),
        (f"---\nname: {'x' * MAX_FRONT_MATTER}\n---", "over 8,000 characters"),
        (f"---\nname: {'[' * 5000}\n---", "100 brackets"),
    ],
)
def test_front_matter_that_is_none_is_refused_with_the_reason(front: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        parted(front)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({}, "no SKILL.md"),
        ({MAIN: "no front matter"}, "first line"),
        ({MAIN: "---\n? [a]\n: b\n---\nBody"}, "no name"),
        ({MAIN: "---\njust words\n---\nBody"}, "no name"),
        ({MAIN: "---\ndescription: x\n---\nBody"}, "no name"),
        ({MAIN: "---\nname: Bad Name\ndescription: x\n---\nBody"}, "not legal"),
        ({MAIN: "---\nname: a\n---\nBody"}, "no description"),
        ({MAIN: f"---\nname: a\ndescription: {'x' * 1025}\n---\nBody"}, "1024 is the most"),
        ({MAIN: '---\nname: a\ndescription: "a <b>tag</b>"\n---\nBody'}, "tags"),
        ({MAIN: "---\nname: a\ndescription: b\nevil: c\n---\nBody"}, "unknown key"),
        ({MAIN: "---\nname: a\ndescription: b\n---\n"}, "nothing below"),
        (files("line\n" * (MAX_LINES + 1)), "too long"),
        (files("x" * 50_000), "too long"),
        (files("```\nno end"), "has no end"),
        (files("[a](references/missing.md)"), "leads to no file"),
        (files("[a](../../etc/passwd)"), "out of the skill"),
        (files("[a](/etc/passwd)"), "out of the skill"),
        (files("[a](file:///etc/passwd)"), "out of the skill"),
        (files("[a]()"), "leads to no file"),
        (files("Run `python scripts/missing.py`."), "no such file"),
        (files("See `../scripts/missing.py`."), "no such file"),
        (files(**{"references/a.md": "[b](b.md)"}), "leads to no file"),
        (files(**{"../evil.md": "x"}), "no path"),
        (files(**{"references/../../evil.md": "x"}), "no path"),
        (files(**{"/etc/evil.md": "x"}), "no path"),
        (files(**{"bin/evil.md": "x"}), "no path"),
        (files(**{"references/a.md": " "}), "is empty"),
        (files(**{"references/a.md": "x", "references/A.md": "x"}), "upper and lower case"),
        (files(**{f"references/{number}.md": "x" for number in range(80)}), "at most 60 files"),
        (files(**{"references/a.md": "x" * 2_000_000}), "bytes"),
    ],
)
def test_everything_that_is_wrong_is_found(made: dict[str, str], why: str) -> None:
    assert any(why in error for error in errors_in(made)), errors_in(made)


def test_links_that_lead_somewhere_are_fine_wherever_they_are() -> None:
    body = (
        "# A b\n\n[here](#a-b), [there](references/a.md), [web](https://example.org), `scripts/a.py`\n\n"
        "```\n[not a link](nowhere.md)\n```\n\nAnd `[neither](nowhere.md)`."
    )
    assert errors_in(files(body, **{"references/a.md": "[back](../SKILL.md)", "scripts/a.py": "1"})) == []


@pytest.mark.parametrize(
    "path", ["scripts/.hidden", "scripts/a b", "scripts/a\\b", "scripts", "scripts/a/b/c/d", "scripts/a."]
)
def test_paths_that_a_file_system_might_take_otherwise_are_refused(path: str) -> None:
    assert path_error(path) is not None


def test_of_a_models_answer_only_planned_files_are_taken_and_missing_ones_are_made() -> None:
    told = {
        "body": "---\nname: evil\n---\n# Hello",
        "files": {
            "references/date-formats.md": "Use ISO.",
            "scripts/evil.py": "boom",
            "../../x": "boom",
            "scripts/clean.sh": 3,
        },
    }
    content, resources = files_of(told, VALUES)
    assert parted(content)[0]["name"] == "meeting-notes"
    assert parted(content)[1] == "# Hello"
    assert resources["references/date-formats.md"] == "Use ISO.\n"
    assert resources["scripts/clean.sh"] == templated_resources(VALUES)["scripts/clean.sh"]
    assert set(resources) == set(templated_resources(VALUES))


@pytest.mark.parametrize("told", [{}, {"body": 3}, {"body": " "}, {"files": {}}])
def test_an_answer_without_a_body_is_none(told: dict[str, Any]) -> None:
    with pytest.raises(ModelNonsense):
        files_of(told, VALUES)


def test_what_leads_nowhere_can_be_mended() -> None:
    made = files(
        "# A\n\n[x](references/made-up.md), [y](references/a.md) and `scripts/made_up.py`.\n```\ncode",
        **{"references/a.md": "x"},
    )
    clean = mended(made)
    assert errors_in(clean) == []
    assert "x, [y](references/a.md) and made_up.py" in clean[MAIN]


def test_name_and_description_are_made_of_the_purpose() -> None:
    assert derived("sort mail by sender") == {
        "skill_name": "sort-mail-sender",
        "description": "Sort mail by sender. Use it when the user wants to sort mail by sender.",
    }
    assert derived("") == {}


def test_long_documents_of_any_kind_are_checked_and_mended_quickly() -> None:
    def checked(text: str) -> None:
        fronts = [{MAIN: text}, {MAIN: f"---\n{text[: MAX_FRONT_MATTER - 2]}\n---\n{text}"}]
        for made in (*fronts, files(text), files("# A", **{"references/a.md": text})):
            errors_in(made)
            mended(made)

    assert slow_inputs(checked) == []
