"""Answers that were cut off: kept, and marked, so that the model knows in the next turn what was heard of it."""

from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import NO_CONTENT, note, with_text
from threadkeep.conversation.message import Message, MessageStatus, Role

MARK = note("this answer was cut off here")


def interrupted(working: Working) -> Working:
    """Mark every answer that was not written to its end."""
    lines = (line.saying(with_mark(line.message)) for line in working.lines)
    return replace(working, lines=tuple(lines))


def with_mark(message: Message) -> Message:
    """Return the message, marked if it was cut off and is not marked yet."""
    if message.status is not MessageStatus.INTERRUPTED or message.role is not Role.ASSISTANT:
        return message
    said = "" if message.content == NO_CONTENT else without_mark(message.content)
    return with_text(message, f"{said}\n\n{MARK}" if said else MARK)


def without_mark(text: str) -> str:
    """Return what was said of an answer, without our mark."""
    return text.removesuffix(MARK).rstrip()
