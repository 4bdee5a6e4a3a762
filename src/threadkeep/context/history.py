"""The history as lines: the messages of the branch, the instructions before them, and the summary of what was cut.

State changes are no part of what a model reads. A line opens a turn where a person speaks; logs that were imported have
no turn numbers, so this, and not the number, is what divides a history into turns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from threadkeep.context.base import Line, Working
from threadkeep.context.marks import with_text
from threadkeep.context.parts import for_model
from threadkeep.conversation.entry import Entry, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.text.notes import note

Turn = tuple[Line, ...]


def history(working: Working) -> Working:
    """Take up the messages of the branch from the cut on."""
    material = working.material
    lines = lines_of(entry for entry in material.entries if entry.seq >= material.cut.first)
    taken = (line.saying(for_model(line.message, material.model, material.accepts)) for line in lines)
    return replace(working, lines=tuple(taken))


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


def instructions(working: Working) -> Working:
    """Make one system text of the assistant's instructions and those that begin the log (R-A1).

    A later system message becomes a marked note where it stands: providers want the system message first, and moving a
    later one there would change the beginning of every request after it.
    """
    opening = {line.seq: line.message.content for line in lines_of(working.material.opening) if _is_system(line)}
    if not working.material.cut.first:
        opening |= {line.seq: line.message.content for line in takewhile(_is_system, working.lines)}
    texts = [working.material.instructions.replace("\x00", "\ufffd"), *opening.values()]
    lines = tuple(_marked(line) for line in working.lines if line.seq not in opening)
    return replace(working, system="\n\n".join(text for text in texts if text.strip()), lines=lines)


def _is_system(line: Line) -> bool:
    return line.message.role is Role.SYSTEM


def _marked(line: Line) -> Line:
    if not _is_system(line):
        return line
    text = note(f"instructions given at this point: {line.message.content}")
    return replace(line, message=Message(id=line.message.id, role=Role.USER, content=text))


def summary(working: Working) -> Working:
    """Put the summary before the history, if something of the history is missing."""
    text = text_of_summary(working.material.summary)
    if not text or not working.cut.first:
        return working
    return replace(working, opening=(*working.opening, text))


def text_of_summary(entry: Entry | None) -> str:
    """Return the note that tells a summary; nothing if there is none."""
    if entry is None or not isinstance(entry.body, Summary) or not entry.body.content.strip():
        return ""
    text = entry.body.content.replace("\x00", "\ufffd").strip()
    return note(f"summary of the earlier conversation, which is not shown in full:\n{text}")
