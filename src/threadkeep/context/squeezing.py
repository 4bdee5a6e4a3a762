"""A current turn that is too large by itself: how its steps are shortened until it fits."""

from itertools import pairwise

from threadkeep.context.lines import Line, Turn
from threadkeep.context.marks import with_text
from threadkeep.context.pairing import size_of
from threadkeep.conversation.message import Role
from threadkeep.text.excerpt import OLD, ends

LEAST = 24
"""How many characters are left of a result where not even the short forms fit."""


def squeeze(turn: Turn, room: int, limit: int) -> tuple[Turn, int]:
    """Return the turn so that it fits into the room, and the seq before which its steps are masked (0 if none is).

    First its older steps take their short form, down to three quarters of the room so that not every new step changes
    them again; then the newest results share what is left; then the newest step is shortened; then all of them to a
    few characters, and at last the oldest steps go. A question is shortened only if it is over the limit alone.
    """
    if size_of(turn) <= room:
        return turn, 0
    turn, boundary = _mask_older(turn, room * 3 // 4)
    if size_of(turn) > room:
        turn = _share_results(turn, room)
    for size in (OLD, LEAST):
        if size_of(turn) > room:
            newest = _newest_step(turn)
            turn = [line.shortened(size, is_newest=place >= newest) for place, line in enumerate(turn)]
    if size_of(turn) > room:
        turn = _without_oldest_steps(turn, room)
    return [_fitted(line, limit) if line.opens else line for line in turn], boundary


def _newest_step(turn: Turn) -> int:
    """Return the place of the newest message that calls tools, or the end if there is none."""
    calls = [place for place, line in enumerate(turn) if line.message.tool_calls]
    return calls[-1] if calls else len(turn)


def _mask_older(turn: Turn, target: int) -> tuple[Turn, int]:
    size, boundary, lines = size_of(turn), 0, list(turn)
    for place in range(_newest_step(turn)):
        if size <= target:
            break
        line = lines[place]
        size += line.short.size - line.size
        lines[place], boundary = line.short, line.seq + 1
    return lines, boundary


def _without_oldest_steps(turn: Turn, room: int) -> Turn:
    """Return the turn without so many of its oldest steps that it fits, each with its results; the newest stays."""
    starts = [place for place, line in enumerate(turn) if line.message.role is Role.ASSISTANT]
    size = size_of(turn)
    for first, following in pairwise(starts):
        if size <= room:
            return [*turn[: starts[0]], *turn[first:]]
        size -= size_of(turn[first:following])
    return [*turn[: starts[0]], *turn[starts[-1] :]] if starts else turn


def _share_results(turn: Turn, room: int) -> Turn:
    """Let the results of the newest step share the room that the other lines leave, each as much as the others."""
    start = _newest_step(turn)
    results = {place for place in range(start, len(turn)) if turn[place].message.role is Role.TOOL}
    others = sum(line.size for place, line in enumerate(turn) if place not in results)
    share = max(0, room - others) // max(1, len(results))
    return [_fitted(line, share) if place in results else line for place, line in enumerate(turn)]


def _fitted(line: Line, tokens: int) -> Line:
    """Return the line with so much of the two ends of its text as fits, but never less than an old text has.

    How many characters a token has differs from text to text, so it is measured: first down to what fits, then up
    again as long as more does.
    """
    message, short = line.message, line
    text, size = message.content, len(message.content)
    while short.size > tokens and size > OLD:
        size = max(OLD, min(size * tokens // short.size, size * 99 // 100))
        short = line.saying(with_text(message, ends(text, size)))
    counted = short.size
    while size < (larger := size * tokens // max(1, counted)) < len(text):
        longer = line.saying(with_text(message, ends(text, larger)))
        if (counted := longer.size) > tokens:
            break
        short, size = longer, larger
    return short
