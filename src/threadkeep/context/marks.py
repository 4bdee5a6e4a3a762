"""What Threadkeep itself says in a context: messages of ours, texts that stand for others, marks on cut-off answers.

Notes are marked as ours (`text/notes.py`). The messages that we add have ids that follow from their place, so that the
same log gives the same context.
"""

from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.text.notes import note

NO_CONTENT = "[No content]"
CUT_OFF = note("this answer was cut off here")


def own(place: str, text: str, role: Role = Role.USER) -> Message:
    """Return a message of ours; `place` tells it from our others in the same context."""
    return Message(id=f"context-{place}", role=role, content=text)


def printable(text: str) -> str:
    """Return a text without U+0000, which not every provider takes."""
    return text.replace("\x00", "\ufffd")


def with_text(message: Message, text: str) -> Message:
    """Return the message with another text; what was counted for the former one does not count any more. Parts that
    stand in the text stay where they are in it."""
    if text == message.content:
        return message
    changed: dict[str, object] = {"content": text, "tokens": None}
    if any(part.at for part in message.parts):
        added = len(text) - len(message.content) if text.endswith(message.content) else 0
        changed["parts"] = tuple(
            part.model_copy(update={"at": min(part.at + added, len(text))}) if part.at else part
            for part in message.parts
        )
    return message.model_copy(update=changed)


def with_mark(message: Message) -> Message:
    """Return the message, marked if it was cut off and is not marked yet."""
    if message.status is not MessageStatus.INTERRUPTED or message.role is not Role.ASSISTANT:
        return message
    text = "" if message.content == NO_CONTENT else without_mark(message.content)
    return with_text(message, f"{text}\n\n{CUT_OFF}" if text else CUT_OFF)


def without_mark(text: str) -> str:
    """Return what was said of an answer, without our mark."""
    return text.removesuffix(CUT_OFF).rstrip()
