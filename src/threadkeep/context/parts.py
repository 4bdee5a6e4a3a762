"""Parts for models: what a model may get back of its reasoning, and what it is told of what it cannot look at.

Reasoning goes back to the model that made it, as it came, and to no other: providers sign it, and refuse what is not
theirs. What was thought for an answer that was cut off was never finished, so nobody can check it.
"""

import json
from collections.abc import Collection

from threadkeep.context.marks import with_text
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.parts import Attachment, Data, Part, Reasoning
from threadkeep.text.notes import note

TAKEN = {
    "image": (("image/png", "image/jpeg", "image/gif", "image/webp"), 50_000_000),
    "audio": (("audio/mpeg", "audio/mp3", "audio/wav", "audio/x-wav"), 10_000_000),
    "pdf": (("application/pdf",), 10_000_000),
}
"""The types of files that every provider takes which takes such files at all, and how many bytes of them; images are
made smaller first."""


def for_model(message: Message, model: str, accepts: Collection[str]) -> Message:
    """Return the message with the parts that this model takes, and what the others say as text behind its own."""
    if not message.parts:
        return message
    kept = tuple(part for part in message.parts if _is_taken(part, message, model, accepts))
    if any(isinstance(part, Reasoning) and part.call is None for part in message.parts if part not in kept):
        # Thoughts of one answer belong together: all of them, or none.
        kept = tuple(part for part in kept if not isinstance(part, Reasoning) or part.call is not None)
    told = [_told(part) for part in message.parts if part not in kept]
    text = "\n\n".join(text for text in (message.content, *told) if text)
    return with_text(with_parts(message, kept), text)


def _is_taken(part: Part, message: Message, model: str, accepts: Collection[str]) -> bool:
    match part:
        case Reasoning():
            is_whole = message.status is MessageStatus.COMPLETE
            return is_whole and bool(model) and part.model == model and part.payload is not None
        case Attachment():
            kind = "pdf" if (part.type, part.media_type) == ("file", "application/pdf") else part.type
            # A file of another type has no form that providers agree on, and only people and tools show something.
            asked = {Role.USER: kind, Role.TOOL: f"tool {kind}"}.get(message.role)
            types, largest = TAKEN.get(kind, ((), 0))
            return asked in accepts and part.media_type in types and (part.size or 0) <= largest
        case _:
            return False


def _told(part: Part) -> str:
    match part:
        case Attachment(extract=""):
            return note(f"attached {part.label}, which you cannot look at")
        case Attachment():
            text = part.extract.replace("\x00", "\ufffd")
            return f"{note(f'attached {part.label}, with this text:')}\n{text}\n{note('end of the attached text')}"
        case Data():
            return note(f"attached data: {json.dumps(part.data, ensure_ascii=False)}").replace("\x00", "\ufffd")
        case _:
            return ""


def with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    """Return the message with other parts; what was counted for the former ones does not count any more."""
    return message if parts == message.parts else message.model_copy(update={"parts": parts, "tokens": None})


def without_reasoning(message: Message) -> Message:
    """Return the message without its reasoning, but for what belongs to a tool call: that is small, and demanded."""
    kept = (part for part in message.parts if not isinstance(part, Reasoning) or part.call is not None)
    return with_parts(message, tuple(kept)) if message.parts else message
