"""The files of a skill: front matter that reads back, a template that is valid, a validator that finds faults."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.errors import InvalidValue, ModelNonsense
from threadkeep_assistants.skill_creator.front_matter import parted, with_front_matter
from threadkeep_assistants.skill_creator.generation import files_of, mended
from threadkeep_assistants.skill_creator.template import MAIN, templated_body, templated_resources, written
from threadkeep_assistants.skill_creator.validation import MOST_LINES, errors_in, path_error

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
    return {MAIN: with_front_matter({"name": "notes", "description": "Does it."}, body), **others}


def test_the_template_makes_a_valid_skill_with_everything_that_was_said() -> None:
    resources = templated_resources(VALUES)
    made = {MAIN: written(VALUES, templated_body(VALUES)), **resources}
    assert errors_in(made) == []
    assert set(resources) == {"references/date-formats.md", "scripts/parse_dates.py", "scripts/clean.sh"}
    fields, body = parted(made[MAIN])
    assert fields == {
        "name": "meeting-notes",
        "description": VALUES["description"],
        "allowed-tools": "Read, Bash(git:*)",
    }
    assert "  - Owner." in body
    compile(resources["scripts/parse_dates.py"], "parse_dates.py", "exec")


def test_the_template_needs_no_more_than_purpose_name_and_description() -> None:
    values = {key: VALUES[key] for key in ("purpose", "skill_name", "description")}
    assert errors_in({MAIN: written(values, templated_body(values))}) == []


@given(st.text(max_size=200).filter(lambda text: text == text.strip()))
def test_every_text_reads_back_from_the_front_matter_as_it_was_written(text: str) -> None:
    fields, body = parted(with_front_matter({"name": "a", "description": text}, "Body"))
    assert fields["description"] == text
    assert body == "Body"


def test_the_front_matter_that_other_programs_write_is_read_too() -> None:
    document = (
        "---\n# a remark\nname: 'it''s'\ndescription: >\n  two\n  lines\nallowed-tools:\n  - Read\n  - Grep\n---\nBody"
    )
    assert parted(document)[0] == {"name": "it's", "description": "two lines", "allowed-tools": ["Read", "Grep"]}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("# No front matter", "first line"),
        ("---\nname: a", "no end"),
        ("---\nname a\n---", "key: value"),
        ("---\nname: a\nname: b\n---", "twice"),
        ('---\nname: "a\n---', "do not match"),
        ("---\nname: a: b\n---", "quotation marks"),
        ("---\nname: [a]\n---", "quotation marks"),
        ("---\nname: a\n  b: c\n---", "do not belong"),
    ],
)
def test_front_matter_that_is_none_is_refused_with_the_reason(document: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        parted(document)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({}, "no SKILL.md"),
        ({MAIN: "no front matter"}, "first line"),
        ({MAIN: "---\ndescription: x\n---\nBody"}, "no name"),
        ({MAIN: "---\nname: Bad Name\ndescription: x\n---\nBody"}, "not legal"),
        ({MAIN: "---\nname: a\n---\nBody"}, "no description"),
        ({MAIN: f"---\nname: a\ndescription: {'x' * 1025}\n---\nBody"}, "1024 is the most"),
        ({MAIN: '---\nname: a\ndescription: "a <b>tag</b>"\n---\nBody'}, "tags"),
        ({MAIN: "---\nname: a\ndescription: b\nevil: c\n---\nBody"}, "unknown key"),
        ({MAIN: "---\nname: a\ndescription: b\n---\n"}, "nothing below"),
        (files("line\n" * (MOST_LINES + 1)), "lines"),
        (files("x" * 50_000), "characters"),
        (files("```\nno end"), "has no end"),
        (files("[a](references/missing.md)"), "leads to no file"),
        (files("[a](../../etc/passwd)"), "out of the skill"),
        (files("[a](/etc/passwd)"), "out of the skill"),
        (files("[a](file:///etc/passwd)"), "out of the skill"),
        (files("[a](#nowhere)"), "no headline"),
        (files("[a]()"), "no target"),
        (files("Run `python scripts/missing.py`."), "no such file"),
        (files("See `../scripts/missing.py`."), "no such file"),
        (files(**{"references/a.md": "[b](b.md)"}), "leads to no file"),
        (files(**{"../evil.md": "x"}), "no path"),
        (files(**{"references/../../evil.md": "x"}), "no path"),
        (files(**{"/etc/evil.md": "x"}), "no path"),
        (files(**{"bin/evil.md": "x"}), "not in one of the folders"),
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
    content, resources = mended(made.pop(MAIN), made)
    assert errors_in({MAIN: content, **resources}) == []
    assert "x, [y](references/a.md) and made_up.py" in content
