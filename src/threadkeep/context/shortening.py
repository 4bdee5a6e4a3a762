"""Shortening: the short form of a line that has become old, and a current turn that is too large by itself.

An old answer is shortened as in R-D5, tool results and arguments to their two ends. A line has one short form only, in
the current turn and later, so that its bytes do not change a second time.
"""

from itertools import pairwise
from typing import Any

from threadkeep.context.base import Counter, Line
from threadkeep.context.blocks import old_text_of
from threadkeep.context.history import Turn
from threadkeep.context.marks import with_mark, with_text, without_mark
from threadkeep.context.parts import without_reasoning
from threadkeep.context.tool_pairs import paired
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.text.excerpt import OLD, ends, head

LEAST = 24
"""How many characters are left of a result where not even the short forms fit."""


def masked(line: Line, size: int = OLD, *, is_newest: bool = False) -> Line:
    """Return the short form of a line. What a person said is never shortened here, and the newest step of a turn keeps
    what was thought for it."""
    match line.message.role:
        case Role.ASSISTANT:
            return line.saying(_answer(line.message if is_newest else without_reasoning(line.message), size))
        case Role.TOOL:
            return line.saying(with_text(line.message, _shortest(line.message.content, size)))
        case _:
            return line


def _shortest(text: str, size: int) -> str:
    return ends(text, size) if size >= OLD else head(text, size)


def _answer(message: Message, size: int) -> Message:
    if message.status is MessageStatus.INTERRUPTED:
        message = with_text(message, without_mark(message.content))
    short = with_mark(with_text(message, head(old_text_of(message), size)))
    if not message.tool_calls:
        return short
    calls = tuple(_call(call, size) for call in message.tool_calls)
    return short if calls == message.tool_calls else short.model_copy(update={"tool_calls": calls, "tokens": None})


def _call(call: ToolCall, size: int) -> ToolCall:
    args = _short(call.args, size)
    return call if args == call.args else call.model_copy(update={"args": args})


def _short(value: Any, size: int) -> Any:
    match value:
        case str():
            return _shortest(value, size)
        case dict():
            return {key: _short(child, size) for key, child in value.items()}
        case list():
            return [_short(child, size) for child in value]
        case _:
            return value


def size_of(turn: Turn, count: Counter) -> int:
    """Return how many tokens a turn has, with the results that a call without one gets."""
    messages = [line.message for line in turn]
    has_tools = any(message.tool_calls or message.tool_result for message in messages)
    return sum(map(count, paired(messages) if has_tools else messages))


def squeeze(turn: Turn, room: int, limit: int, count: Counter) -> tuple[Turn, int]:
    """Return the turn so that it fits into the room, and the seq before which its steps are masked (0 if none is).

    First its older steps take their short form, down to three quarters of the room so that not every new step changes
    them again; then the newest results share what is left; then the newest step is shortened; then all of them to a
    few characters, and at last the oldest steps go. A question is shortened only if it is over the limit alone.
    """
    if size_of(turn, count) <= room:
        return turn, 0
    turn, boundary = _mask_older(turn, room * 3 // 4, count)
    if size_of(turn, count) > room:
        turn = _share_results(turn, room, count)
    for size in (OLD, LEAST):
        if size_of(turn, count) > room:
            newest = _newest_step(turn)
            turn = tuple(masked(line, size, is_newest=place >= newest) for place, line in enumerate(turn))
    if size_of(turn, count) > room:
        turn = _without_oldest_steps(turn, room, count)
    return tuple(_question(line, limit, count) if line.opens else line for line in turn), boundary


def _newest_step(turn: Turn) -> int:
    """Return the place of the newest message that calls tools, or the end if there is none."""
    calls = [place for place, line in enumerate(turn) if line.message.tool_calls]
    return calls[-1] if calls else len(turn)


def _mask_older(turn: Turn, target: int, count: Counter) -> tuple[Turn, int]:
    size, boundary, lines = size_of(turn, count), 0, list(turn)
    for place in range(_newest_step(turn)):
        if size <= target:
            break
        short = masked(lines[place])
        size += count(short.message) - count(lines[place].message)
        lines[place], boundary = short, short.seq + 1
    return tuple(lines), boundary


def _without_oldest_steps(turn: Turn, room: int, count: Counter) -> Turn:
    """Return the turn without so many of its oldest steps that it fits, each with its results; the newest stays."""
    starts = [place for place, line in enumerate(turn) if line.message.role is Role.ASSISTANT]
    size = size_of(turn, count)
    for first, following in pairwise(starts):
        if size <= room:
            return turn[: starts[0]] + turn[first:]
        size -= size_of(turn[first:following], count)
    return turn[: starts[0]] + turn[starts[-1] :] if starts else turn


def _share_results(turn: Turn, room: int, count: Counter) -> Turn:
    """Let the results of the newest step share the room that the other lines leave, each as much as the others."""
    start = _newest_step(turn)
    results = {place for place in range(start, len(turn)) if turn[place].message.role is Role.TOOL}
    others = sum(count(line.message) for place, line in enumerate(turn) if place not in results)
    share = max(0, room - others) // max(1, len(results))
    return tuple(
        line.saying(fitted(line.message, share, count)) if place in results else line for place, line in enumerate(turn)
    )


def _question(line: Line, limit: int, count: Counter) -> Line:
    return line.saying(fitted(line.message, limit, count))


def fitted(message: Message, tokens: int, count: Counter) -> Message:
    """Return the message with so much of the two ends of its text as fits, but never less than an old text has.

    How many characters a token has differs from text to text, so it is measured: first down to what fits, then up
    again as long as more does.
    """
    text, short, size, counted = message.content, message, len(message.content), count(message)
    while counted > tokens and size > OLD:
        size = max(OLD, min(size * tokens // counted, size * 99 // 100))
        short = with_text(message, ends(text, size))
        counted = count(short)
    while size < (larger := size * tokens // max(1, counted)) < len(text):
        longer = with_text(message, ends(text, larger))
        if (counted := count(longer)) > tokens:
            break
        short, size = longer, larger
    return short
