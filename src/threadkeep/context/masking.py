"""The short form of a line that has become old: answers as in R-D5, tool results and arguments by their two ends.

A line has one short form only, in the current turn and later, so that its bytes do not change a second time.
"""

from typing import Any

from threadkeep.context.base import Line
from threadkeep.context.blocks import old_text_of
from threadkeep.context.marks import with_mark, without_mark
from threadkeep.context.marks import with_text
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.text.excerpt import OLD, ends


def masked(line: Line) -> Line:
    """Return the short form of a line. What a person said is never shortened here."""
    match line.message.role:
        case Role.ASSISTANT:
            return line.saying(_answer(line.message))
        case Role.TOOL:
            return line.saying(with_text(line.message, ends(line.message.content, OLD)))
        case _:
            return line


def _answer(message: Message) -> Message:
    if message.status is MessageStatus.INTERRUPTED:
        message = with_text(message, without_mark(message.content))
    short = with_mark(with_text(message, old_text_of(message)))
    if not message.tool_calls:
        return short
    calls = tuple(_call(call) for call in message.tool_calls)
    return short if calls == message.tool_calls else short.model_copy(update={"tool_calls": calls, "tokens": None})


def _call(call: ToolCall) -> ToolCall:
    args = _short(call.args)
    return call if args == call.args else call.model_copy(update={"args": args})


def _short(value: Any) -> Any:
    match value:
        case str():
            return ends(value, OLD)
        case dict():
            return {key: _short(child) for key, child in value.items()}
        case list():
            return [_short(child) for child in value]
        case _:
            return value
