"""The history as lines: the messages of the branch, with text that every provider can take.

State changes are no part of what a model reads. A line opens a turn where a person speaks; logs that were imported have
no turn numbers, so this, and not the number, is what divides a history into turns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from threadkeep.context.base import Line, Working
from threadkeep.context.marks import with_text
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role

Turn = tuple[Line, ...]


def history(working: Working) -> Working:
    """Take up the messages of the branch from the cut on."""
    material = working.material
    return replace(
        working, lines=tuple(lines_of(entry for entry in material.entries if entry.seq >= material.cut.first))
    )


def lines_of(entries: Iterable[Entry]) -> list[Line]:
    """Return the lines of the entries that are messages."""
    return [_line(entry, entry.body) for entry in entries if isinstance(entry.body, Message)]


def _line(entry: Entry, message: Message) -> Line:
    text = message.content
    if message.tool_result is not None and not text.strip():
        text = message.tool_result.error or ""
    message = with_text(message, text.replace("\x00", "\ufffd"))
    return Line(seq=entry.seq, turn=entry.turn, at=entry.created_at, message=message, opens=message.role is Role.USER)


def in_turns(lines: Sequence[Line], number: int) -> tuple[list[Turn], Turn]:
    """Return the earlier turns and the current one.

    The current turn begins with the message of that number or, where the answer is made anew under another number, with
    the newest question. Lines before the first question are a turn of their own.
    """
    start = _current(lines, number)
    places = [place for place in range(start) if lines[place].opens or place == 0]
    return [tuple(lines[place:end]) for place, end in pairwise([*places, start])], tuple(lines[start:])


def _current(lines: Sequence[Line], number: int) -> int:
    questions = [place for place, line in enumerate(lines) if line.opens]
    named = [place for place in questions if lines[place].turn == number]
    return named[0] if named else questions[-1] if questions else 0
