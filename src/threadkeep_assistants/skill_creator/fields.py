"""What is gathered about a skill: each part with its key in the state, its question and its names; and legal names."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from threadkeep.text.stop_words import BY_LANGUAGE


def phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a table's cell."""
    return tuple(text.split("|"))


MAX_NAME, MAX_DESCRIPTION = 64, 1_024
NEEDED = ("purpose", "skill_name", "description")
"""The parts that no skill can be without, which are texts; all others are lists."""


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a skill; `words` are what people call it, the usual one first."""

    key: str
    words: tuple[str, ...]
    question: str
    sample: str

    @property
    def label(self) -> str:
        """The word for it in a list."""
        return self.words[0].capitalize()


_PARTS = """
purpose | purpose, goal | What should the skill do? | It turns meeting notes into a list of action items
skill_name | name, skill name, title | What should the skill be called? | meeting-notes
description | description, summary | How would you describe it: what it does and when to use it? \
| Turns meeting notes into action items. Use it when somebody pastes notes
capabilities | capabilities, capability, features, feature | What exactly should it be able to do? \
| find tasks: owner, due date; write a summary
workflow_steps | steps, step, workflow | Which steps should it follow, in order? \
| read the notes, then find the tasks, then write the list
examples | examples, example | What would somebody say to it? One or two examples help. \
| "Here are my notes from Monday, who has to do what?"
triggers | triggers, trigger | When should it be used: which situations or words are the sign? \
| somebody pastes meeting notes; somebody asks for action items
reference_topics | references, reference, topics | Are there topics that deserve a reference page of their own? \
| date formats, tone of voice
scripts_needed | scripts, script | Does it need scripts for work that must be done exactly? \
| a script that parses dates
allowed_tools | tools, tool, allowed tools | Should it be limited to certain tools? | Read, Grep
"""
_ROWS = [[cell.strip() for cell in line.split("|")] for line in _PARTS.strip().splitlines()]
FIELDS = tuple(Field(key, tuple(words.split(", ")), question, sample) for key, words, question, sample in _ROWS)
BY_KEY = {field.key: field for field in FIELDS}

_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
_LETTERS = str.maketrans({"'": "", "’": "", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})  # noqa: RUF001 - as phones write
_DULL = BY_LANGUAGE["english"] | set(
    phrases("skill|skills|help|helps|want|need|make|using|use|user|users|into|something")
)


def is_known(values: Mapping[str, Any], key: str) -> bool:
    """Whether a part is known. A list may be known to be empty; a text that is needed may not."""
    return bool(values.get(key)) if key in NEEDED else values.get(key) is not None


def missing(values: Mapping[str, Any]) -> list[str]:
    """Return the parts that nobody has said anything about, in the order in which they are asked for."""
    return [key for key in BY_KEY if not is_known(values, key)]


def name_error(name: str) -> str | None:
    """Return what is wrong with the name of a skill, in words that tell how to mend it."""
    if not all(part.isascii() and part.isalnum() and part == part.lower() for part in name.split("-")):
        return "A name has lower case letters, digits and single hyphens between them."
    if len(name) > MAX_NAME:
        return f"A name has at most {MAX_NAME} characters; this one has {len(name)}."
    if name in _DEVICES or "claude" in name or "anthropic" in name:
        return "A name is no device of a system (such as nul) and does not hold claude or anthropic."
    return None


def slug(text: str, most: int = MAX_NAME) -> str:
    """Return words as a name: lower case, hyphens between them, cut at a word."""
    folded = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    words = re.findall(r"[a-z0-9]+", "".join(sign for sign in folded if not unicodedata.combining(sign)))
    ends = accumulate(len(word) + 1 for word in words)
    return "-".join(word for word, end in zip(words, ends, strict=True) if end <= most + 1) or "".join(words)[:most]


def suggested_name(purpose: str) -> str:
    """Return a name made of the first words of a purpose that say something; always a legal one."""
    words = [word for word in re.findall(r"[a-z0-9]{2,}", purpose.lower()) if word not in _DULL]
    name = slug(" ".join(words[:3]))
    return name if name_error(name) is None else "my-skill"
