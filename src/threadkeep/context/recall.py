"""Recall: entries that fell out of the window and match the question are put back, marked as earlier and dated.

The search itself is the store's, by the `content_words` of the question; here the finds are chosen and told. They stand
with the question, so that the beginning of the context stays the same bytes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from threadkeep.context.base import Counter, Line, Working
from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.history import in_turns, lines_of
from threadkeep.context.marks import note, own
from threadkeep.context.window import room_left_for_recall
from threadkeep.conversation.message import Role
from threadkeep.text.excerpt import around
from threadkeep.text.words import content_words

MAX_CHARACTERS = 1200
"""How much of one recalled message is shown."""


def recall(working: Working) -> Working:
    """Put the best of the recalled entries beside the question, in the order of the log."""
    material = working.material
    lost = [line for line in lines_of(material.recalled) if line.seq < working.cut.first and _text(line)]
    if not lost:
        return working
    chosen = pick(lost, room_left_for_recall(working), material.count, _words(working))
    if not chosen:
        return working
    texts = "\n".join(text for _, text in chosen)
    item = {"kind": "recall", "entries": [line.seq for line, _ in chosen]}
    text = note(f"from earlier in this conversation, because it may matter now:\n{texts}")
    return replace(working, beside=(text, *working.beside), trace=(*working.trace, item))


def pick(ranked: Sequence[Line], room: int, count: Counter, words: Iterable[str] = ()) -> list[tuple[Line, str]]:
    """Return the best lines, those of one turn together where they fit, with the text that tells each; oldest first."""
    words, chosen = tuple(words), dict[int, tuple[Line, str]]()
    for best in ranked:
        mates = [line for line in ranked if line.turn is not None and line.turn == best.turn]
        for group in (mates, [best]):
            texts = {line.seq: (line, _line_text(line, words)) for line in group if line.seq not in chosen}
            cost = sum(count(own("size", text)) for _, text in texts.values())
            if texts and cost <= room:
                room -= cost
                chosen |= texts
                break
    return [chosen[seq] for seq in sorted(chosen)]


def _line_text(line: Line, words: tuple[str, ...]) -> str:
    speaker = "tool result" if line.message.role is Role.TOOL else line.message.role
    return f"({line.at:%Y-%m-%d %H:%M}, {speaker}) {around(_text(line), words, MAX_CHARACTERS)}"


def _text(line: Line) -> str:
    """Return what a line says; an answer with blocks may say it there only."""
    texts = (line.message.content.strip(), text_of_blocks(line.message))
    return next((text for text in texts if text), "")


def _words(working: Working) -> tuple[str, ...]:
    _, current = in_turns(working.lines, working.material.turn)
    return content_words(current[0].message.content) if current and current[0].opens else ()
