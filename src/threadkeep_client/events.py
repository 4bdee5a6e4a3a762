"""Events and values of the wire as those of Threadkeep: the reverse of `event_json` and of the server's answers."""

from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from threadkeep.conversation.blocks import AnyBlock, Block
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.event_json import NAMES, UNFOLDED
from threadkeep.conversation.events import Event, TurnEnded
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Part, Parts
from threadkeep.conversation.scope import Scope

UNSENT = ("kind", "status", "tokens", "started_at", "tool_trace")
"""What the server itself knows of a message."""
_KINDS = {name: kind for kind, names in NAMES.items() for name in names}
_READ: dict[Any, Any] = {Block: AnyBlock, tuple[Part, ...]: Parts}
_MISSING: dict[str, Any] = {"parts": (), "client_calls": ()}


@cache
def _fields(kind: type) -> dict[str, tuple[Any, TypeAdapter[Any]]]:
    return {name: (hint, TypeAdapter(_READ.get(hint, hint))) for name, hint in get_type_hints(kind).items()}


def event_of(name: str, data: dict[str, Any], cursor: str | None, conversation: str) -> Event | None:
    """Return an event of the wire; None if it is of a kind that is not known here, as a newer server may send."""
    kind = _KINDS.get(name)
    if kind is None:
        return None
    fields: dict[str, Any] = {}
    for field, (hint, reader) in _fields(kind).items():
        if field in UNFOLDED:
            given: Any = {each: data[each] for each in hint.model_fields if each in data}
        elif (kind, field) == (TurnEnded, "state"):
            given = name.partition(".")[2]
        elif field not in data:
            given = _MISSING.get(field)
        else:
            given = (
                _known(data[field])
                if isinstance(data[field], dict) and hint in (Message, Message | None)
                else data[field]
            )
        fields[field] = reader.validate_python(given)
    return Event(kind(**fields), Cursor() if cursor is None else Cursor.decode(cursor, conversation))


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in Message.model_fields if name in fields}


def message_of(shown: dict[str, Any]) -> Message:
    """Return a message as an answer shows it, without its place in the tree."""
    return Message.model_validate(_known(shown))


def conversation_of(shown: dict[str, Any], scope: Scope) -> Conversation:
    """Return a conversation as an answer shows it."""
    return Conversation(scope=scope, **{name: shown[name] for name in Conversation.model_fields if name in shown})


def entry_of(message: Message) -> dict[str, Any]:
    """Return a message as it is sent: its text is the first of its parts, behind which the others stand."""
    said = message.model_dump(mode="json", exclude_defaults=True, exclude={"content", "parts", *UNSENT})
    parts = [part.model_dump(mode="json", exclude={"at"}) for part in message.parts]
    text = [{"type": "text", "text": message.content}] if message.content else []
    content = [*text, *parts] if parts else message.content
    return {"type": "message", "role": message.role, "id": message.id, "content": content, **said}
