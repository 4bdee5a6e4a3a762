"""The short form of a message that has become old: an answer as in R-D5, tool results and arguments by their two ends.

A message has one short form only, in the current turn and later, so that its bytes do not change a second time.
"""

from typing import Any

from threadkeep.context.blocks import old_text_of
from threadkeep.context.marks import with_mark, with_text, without_mark
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.text.excerpt import OLD, ends, head


def short_form(message: Message, size: int = OLD) -> Message:
    """Return the message with so many characters of its text and its arguments; what a person said is never short."""
    match message.role:
        case Role.ASSISTANT:
            return _answer(message, size)
        case Role.TOOL:
            return with_text(message, _shortest(message.content, size))
        case _:
            return message


def _shortest(text: str, size: int) -> str:
    return ends(text, size) if size >= OLD else head(text, size)


def _answer(message: Message, size: int) -> Message:
    if message.status is MessageStatus.INTERRUPTED:
        message = with_text(message, without_mark(message.content))
    short = with_mark(with_text(message, head(old_text_of(message), size)))
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
