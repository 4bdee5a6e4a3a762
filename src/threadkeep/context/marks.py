"""What Threadkeep itself says in a context, and how a message gets another text.

Everything of ours is in square brackets and named, so that a model does not take it for a person's or a tool's word.
The messages that we add have ids that follow from their place, so that the same log gives the same context.
"""

from threadkeep.conversation.message import Message, Role

NO_CONTENT = "[No content]"


def note(text: str) -> str:
    """Return a text that is marked as ours."""
    return f"[Threadkeep: {text}]"


def own(place: str, text: str, role: Role = Role.USER) -> Message:
    """Return a message of ours; `place` tells it from our others in the same context."""
    return Message(id=f"context-{place}", role=role, content=text)


def with_text(message: Message, text: str) -> Message:
    """Return the message with another text; what was counted for the former one does not count any more."""
    if text == message.content:
        return message
    return message.model_copy(update={"content": text, "tokens": None})
