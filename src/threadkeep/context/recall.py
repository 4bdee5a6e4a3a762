"""Recall: messages that fell out of the window, or are shown shortened, and match the question are put back.

The search is the store's, by the forms of the words of the question; here the finds are chosen and told, marked as
earlier and dated. They stand with the question, so that the beginning of the context stays the same bytes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from threadkeep.context.base import Counter, Line, Working
from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.history import in_turns, lines_of
from threadkeep.context.marks import note, own
from threadkeep.context.shortening import masked
from threadkeep.context.window import room_left_for_recall
from threadkeep.conversation.message import Role
from threadkeep.text.excerpt import around
from threadkeep.text.words import content_words

MAX_CHARACTERS = 1200
"""How much of one recalled message is shown."""
OVERHEAD = 60
"""Tokens that are left for the note around what is recalled and for its dates."""


def recall(working: Working) -> Working:
    """Put the best of the recalled messages beside the question, as many as there is room for."""
    material = working.material
    lost = [line for line in lines_of(material.recalled) if _is_lost(line, working) and _text(line)]
    chosen = pick(lost, room_left_for_recall(working) - OVERHEAD, material.count, _words(working))
    if not chosen:
        return working
    days = groupby(chosen, key=lambda found: f"{found[0].at:%Y-%m-%d}")
    texts = "\n".join(f"{day}\n" + "\n".join(text for _, text in found) for day, found in days)
    item = {"kind": "recall", "entries": [line.seq for line, _ in chosen]}
    text = note(f"from earlier in this conversation, because it may matter now:\n{texts}")
    return replace(working, beside=(text, *working.beside), trace=(*working.trace, item))


def _is_lost(line: Line, working: Working) -> bool:
    """Whether a line is not, or not in full, in the window."""
    return line.seq < working.cut.first or (line.seq < working.cut.masked and masked(line) is not line)


def pick(ranked: Sequence[Line], room: int, count: Counter, words: Iterable[str] = ()) -> list[tuple[Line, str]]:
    """Return the best lines that fit into the room, with the text that tells each, in the order of the log."""
    words, chosen = tuple(words), list[tuple[Line, str]]()
    for line in ranked:
        speaker = "tool result" if line.message.role is Role.TOOL else line.message.role
        text = f"({speaker}) {around(_text(line), words, MAX_CHARACTERS)}"
        cost = count(own("size", text))
        if cost <= room:
            room -= cost
            chosen.append((line, text))
    return sorted(chosen, key=lambda found: found[0].seq)


def _text(line: Line) -> str:
    """Return what a line says; an answer with blocks may say it there only."""
    texts = (line.message.content.strip(), text_of_blocks(line.message))
    return next((text for text in texts if text), "")


def _words(working: Working) -> tuple[str, ...]:
    _, current = in_turns(working.lines, working.material.turn)
    return tuple(content_words(current[0].message.content)) if current and current[0].opens else ()
