"""Notes: what Threadkeep itself says beside the words of people and tools.

Contexts are written with them, and scripted models read them, so both stand here.

Everything of ours is in square brackets and named, so that a model does not take it for a person's or a tool's word.
"""

import re
from collections.abc import Iterable
from itertools import groupby

_BEGIN = "[Threadkeep: "
_END = re.compile(r"\](?=\n\n|\Z)\s*")
_EARLIER = "from earlier in this conversation, because it may matter now:"
_SPOKEN = re.compile(r"^(?:\d{4}-\d\d-\d\d\n)?\((?P<speaker>user|assistant|system|tool result)\) ", re.MULTILINE)


def note(text: str) -> str:
    """Return a text that is marked as ours."""
    return f"{_BEGIN}{text}]"


def split_notes(text: str) -> tuple[str, list[str]]:
    """Return the words of a message and the notes in it, in one pass: messages may have any length."""
    words, notes, at = "", list[str](), 0
    while (start := text.find(_BEGIN, at)) >= 0 and (end := _END.search(text, start)):
        words += text[at:start]
        notes.append(text[start + len(_BEGIN) : end.start()])
        at = end.end()
    return words + text[at:], notes


def spoken_line(speaker: str, text: str) -> str:
    """Return what somebody said as a line of `earlier_note`."""
    return f"({speaker}) {text}"


def earlier_note(dated: Iterable[tuple[str, str]]) -> str:
    """Return the note that tells lines (`spoken_line`) of earlier days, each with its day, in order."""
    days = groupby(dated, key=lambda found: found[0])
    texts = (f"{day}\n" + "\n".join(line for _, line in found) for day, found in days)
    return note("\n".join((_EARLIER, *texts)))


def said_earlier(notes: Iterable[str], speaker: str) -> list[str]:
    """Return what one speaker says in those of the notes that `earlier_note` wrote."""
    pieces = [_SPOKEN.split(text)[1:] for text in notes if text.startswith(_EARLIER)]
    return [
        text.strip() for piece in pieces for who, text in zip(piece[::2], piece[1::2], strict=True) if who == speaker
    ]
