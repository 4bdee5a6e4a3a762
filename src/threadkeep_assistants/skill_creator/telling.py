"""What is told: parts of a skill in words, questions, what is known and missing, and the finished document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from threadkeep.conversation.blocks import Block, Table
from threadkeep_assistants.skill_creator.fields import BY_KEY, FIELDS, Field, has, missing

HELP = (
    "I ask one question at a time and write a skill from the answers: a folder with SKILL.md and what belongs to "
    "it.\n\n"
    "- Answer in your own words, or say *skip*, *you decide* or *you decide everything*.\n"
    '- Change anything at any time: "change the description", "change the name to ...", "add an example: ...", "no '
    'scripts".\n'
    "- *go back* returns to the question before, *status* tells what is known and what is missing.\n"
    "- *write it* writes the skill with what is known, *start over* begins anew."
)
WELCOME = "I help you to make a skill: a folder with instructions that an assistant follows."
_PRIVATE = {"data", "private", "privacy", "safe", "secure", "stored", "see", "sees", "saved", "lost"}
_KEPT = (
    "What you say is kept with this conversation. A file is made only when you say where to save it: personal is for "
    "you alone, shared for everybody in your organisation."
)
_SHOWN = 300
_LAYERS = {"personal": "personal (for you alone)", "shared": "shared (for everybody in your organisation)"}
WHERE = f"Where shall I save it: {_LAYERS['personal']} or {_LAYERS['shared']}?"
AGAIN = "I did not find an answer in that, so nothing has changed."
READY = "Shall I write the skill? Say *yes*, or tell me what to change."


class Then(StrEnum):
    """What follows: the answer is all, the skill is written, or it is saved."""

    ANSWER = "answer"
    WRITE = "write"
    SAVE = "save"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and what follows; an answer is then made by what follows."""

    text: str = ""
    blocks: tuple[Block, ...] = ()
    then: Then = Then.ANSWER


def shown(key: str, value: Any) -> str:
    """Return a part in one line."""
    if value is None or value == "" or (value == [] and key not in BY_KEY):
        return "not known yet"
    if value == []:
        return "none"
    text = value if isinstance(value, str) else "; ".join(_item(item) for item in value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def noted(key: str, value: Any) -> str:
    """Return a part with its value, as a sentence."""
    return ended(f"**{BY_KEY[key].label}**: {shown(key, value)}")


def ended(text: str) -> str:
    """Return a text with a stop at its end."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


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
        return f"{field.question} Now it is: {ended(shown(field.key, current))} (*Skip* keeps it.)"
    ways = "" if field.is_needed else ", or *skip*"
    ways = "" if field.key == "purpose" else f" Or say *you decide*{ways}."
    return f"{field.question} (For example: {field.sample}.{ways})"


def explained(question: str, values: Mapping[str, Any]) -> str:
    """Return what is said to a question of a person: about a part, about this conversation, or that we cannot tell."""
    words = set(re.findall(r"[a-z]+", question.lower()))
    part = next((field for field in FIELDS if words & set(field.words)), None)
    if words & _PRIVATE:
        return _KEPT
    if part and not (part.key == "examples" and words & {"give", "show", "an", "another"}):
        now = f" Now it is: {ended(shown(part.key, values[part.key]))}" if has(values, part.key) else ""
        return ended(f"**{part.label}** answers this: {part.question} For example: {part.sample}") + now
    if "skill" in words or "skills" in words:
        return f"{WELCOME} The assistant reads it whenever its description fits what somebody asks for."
    if words & {"long", "many", "much", "time", "next", "happens"}:
        return f"So many questions are left: {len(missing(values))}. Then I write it; *write it* does so at once."
    if words & {"why", "mean", "understand", "explain", "example", "huh", "pardon"} or words == {"what"}:
        return "I ask so that it can be written into SKILL.md. A few words are enough, and you can change them later."
    return "That I cannot answer; I only make skills. Say *help* to see what you can tell me."


def summary(values: Mapping[str, Any]) -> str:
    """Return everything that is known, before the skill is written."""
    return f"This is what I have:\n\n{listed({key: values.get(key) for key in BY_KEY})}\n\n{READY}"


def status(state: str, values: Mapping[str, Any]) -> tuple[str, Table]:
    """Return how far a skill is, as text and as a table."""
    known = {**values, **(values.get("unconfirmed") or {})}
    rows = [[field.label, shown(field.key, known.get(field.key)), _mark(field, values)] for field in FIELDS]
    lines = [f"- **{label}**: {text}" + (f" ({mark})" if mark != "known" else "") for label, text, mark in rows]
    absent = [BY_KEY[key].label.lower() for key in missing(known)]
    told = [f"The skill is {values.get('progress', 0)} % done; state: {state.replace('_', ' ')}.", "", *lines, ""]
    told.append(f"Missing: {', '.join(absent)}." if absent else "Nothing is missing.")
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
