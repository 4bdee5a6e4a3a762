"""What is told: parts of a skill in words, questions, what is known and missing, and the finished document."""

import re
from collections.abc import Mapping
from typing import Any

from threadkeep.assistants.skill_creator.fields import BY_KEY, FIELDS, Field, has
from threadkeep.conversation.blocks import Table

HELP = (
    "I ask one question at a time and write a skill from the answers: a folder with SKILL.md and what belongs to "
    "it.\n\n"
    "- Answer in your own words, or say *skip*, *you decide* or *you decide everything*.\n"
    '- Change anything at any time: "change the description", "change the name to ...", "add an example: ...", "no '
    'scripts".\n'
    "- *go back* returns to the question before, *status* tells what is known and what is missing.\n"
    "- *write it* writes the skill with what is known, *start over* begins anew."
)
_SHOWN = 300
_LAYERS = {"personal": "personal (for you alone)", "shared": "shared (for everybody in your organisation)"}
WHERE = f"Where shall I save it: {_LAYERS['personal']} or {_LAYERS['shared']}?"
READY = "Shall I write the skill? Say *yes*, or tell me what to change."


def shown(key: str, value: Any) -> str:
    """Return a part in one line."""
    if value is None or value == "" or (value == [] and key not in BY_KEY):
        return "not known yet"
    if value == []:
        return "none"
    text = value if isinstance(value, str) else "; ".join(_item(item) for item in value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _item(item: Any) -> str:
    match item:
        case {"name": name, "details": list(details)}:
            return f"{name} ({', '.join(details)})" if details else str(name)
        case {"name": name, "purpose": purpose}:
            return f"{name}: {purpose}"
        case _:
            return str(item)


def listed(values: Mapping[str, Any]) -> str:
    """Return parts as a list, in the usual order."""
    return "\n".join(
        f"- **{field.label}**: {shown(field.key, values[field.key])}" for field in FIELDS if field.key in values
    )


def confirmation(unconfirmed: Mapping[str, Any], *, is_ours: bool = False) -> str:
    """Return what was understood, or what we would put, for a person to confirm."""
    lead = "I would put" if is_ours else "I understood"
    return f"{lead}:\n\n{listed(unconfirmed)}\n\nIs that right? Say *yes*, or what should be different."


def asked_for(field: Field, current: Any = None) -> str:
    """Return the question about a part; what is known of it is said along."""
    if current is not None:
        return f"{field.question} Now it is: {shown(field.key, current)}. (*Skip* keeps it.)"
    ways = "" if field.is_needed else ", or *skip*"
    ways = "" if field.key == "purpose" else f" Or say *you decide*{ways}."
    return f"{field.question} (For example: {field.sample}.{ways})"


def summary(values: Mapping[str, Any]) -> str:
    """Return everything that is known, before the skill is written."""
    return f"This is what I have:\n\n{listed({key: values.get(key) for key in BY_KEY})}\n\n{READY}"


def status(state: str, values: Mapping[str, Any]) -> tuple[str, Table]:
    """Return how far a skill is, as text and as a table."""
    known = {**values, **(values.get("unconfirmed") or {})}
    rows = [[field.label, shown(field.key, known.get(field.key)), _mark(field, values)] for field in FIELDS]
    lines = [f"- **{label}**: {text}" + (f" ({mark})" if mark != "known" else "") for label, text, mark in rows]
    missing = [field.label.lower() for field in FIELDS if not has(known, field.key)]
    told = [f"The skill is {values.get('progress', 0)} % done; state: {state.replace('_', ' ')}.", "", *lines, ""]
    told.append(f"Missing: {', '.join(missing)}." if missing else "Nothing is missing.")
    if values.get("validation_errors"):
        told += ["", "To be mended:", *(f"- {error}" for error in values["validation_errors"])]
    if values.get("saved_to"):
        told += ["", f"Saved to `{values['saved_to']}`."]
    return "\n".join(told), Table(columns=["Part", "Known so far", "How"], rows=rows)


def _mark(field: Field, values: Mapping[str, Any]) -> str:
    if field.key in (values.get("unconfirmed") or {}):
        return "to be confirmed"
    if has(values, field.key):
        return "known"
    return "needed" if field.is_needed else "optional"


def document(values: Mapping[str, Any]) -> str:
    """Return the finished SKILL.md, fenced, and the list of files."""
    text = str(values.get("generated_content") or "")
    longest = max((len(fence) for fence in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}markdown\n{text.rstrip()}\n{fence}\n\n{files_of(values)}"


def files_of(values: Mapping[str, Any]) -> str:
    """Return the list of files."""
    files = {"SKILL.md": str(values.get("generated_content") or ""), **(values.get("resources") or {})}
    return "Files:\n\n" + "\n".join(f"- `{path}` ({_lines(text)})" for path, text in sorted(files.items()))


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return f"{count} line{'' if count == 1 else 's'}"
