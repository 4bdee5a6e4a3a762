"""What clients of the AI SDK send: UI messages, of which only what is needed is read."""

import asyncio
import binascii
from base64 import b64decode
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.ids import id_of
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import safe_file_name
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.requests import SentText

MOST_MESSAGES = 10_000
MOST_PARTS = 1000
OUR_FILES = "/v1/files/"
_DERIVED = 9
"""How many characters are put behind the id of a message for one that is an edit of it: a dot and a digest."""


class UiMessage(BaseModel):
    """A message as a front end has it. A text in place of its parts is taken as well."""

    model_config = ConfigDict(frozen=True)
    id: SentText = Field(default="", max_length=2000)
    role: Literal["user", "assistant", "system"] = "user"
    parts: list[dict[str, Any]] = Field(default=[], max_length=MOST_PARTS)
    content: SentText = ""

    @property
    def text(self) -> str:
        """All that it says."""
        texts = (part.get("text") for part in self.parts if part.get("type") == "text")
        return "\n\n".join(text for text in texts if isinstance(text, str) and text) or self.content

    @property
    def own_id(self) -> str | None:
        """Its id as one that a message may have here."""
        return id_of(self.id)[: 128 - _DERIVED] if self.id else None

    def edited_id(self, parent: int) -> str | None:
        """An id for this text in the place of another that came with the same id."""
        digest = sha256(f"{parent}\0{self.text}".encode()).hexdigest()[: _DERIVED - 1]
        return self.own_id and f"{self.own_id}.{digest}"

    def may_be(self, message: Message) -> bool:
        """Whether a stored message is this one, or an edit of it."""
        own = self.own_id
        if own is None or message.role is not Role.USER:
            return False
        return message.id == own or (message.id.startswith(f"{own}.") and len(message.id) == len(own) + _DERIVED)

    def tools(self) -> list[dict[str, Any]]:
        """Its parts that are tool calls."""
        return [part for part in self.parts if isinstance(part.get("toolCallId"), str)]

    def stored(self) -> Message | None:
        """Return what it says as a message of a history; none if it says nothing."""
        return Message(role=Role(self.role), content=self.text) if self.text else None


class ChatBody(BaseModel):
    """What `useChat` sends: all messages, or the last one alone. Unknown fields are those of the app."""

    model_config = ConfigDict(frozen=True)
    id: SentText = Field(min_length=1, max_length=2000)
    messages: list[UiMessage] = Field(default=[], max_length=MOST_MESSAGES)
    message: UiMessage | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: SentText | None = None  # noqa: N815 - its name on the wire
    assistant: SentText | None = None

    @property
    def all(self) -> list[UiMessage]:
        """The messages, the last of which is what this is about."""
        found = self.messages if self.message is None else [self.message]
        if not found:
            raise InvalidValue("A request has `messages`, or a `message`.")
        return found


async def content_of(message: UiMessage, conversations: Conversations, scope: Scope) -> list[Any]:
    """Return what a person says as parts to send; its files are kept."""
    parts: list[Any] = []
    for part in message.parts or [{"type": "text", "text": message.content}]:
        kind = part.get("type")
        if kind == "text" and part.get("text"):
            parts.append({"type": "text", "text": part["text"]})
        elif kind == "file":
            parts.append(await _attached(part, conversations, scope))
        elif isinstance(kind, str) and kind.startswith("data-"):
            parts.append({"type": "data", "data": {"name": kind.removeprefix("data-"), "data": part.get("data")}})
    if not parts:
        raise InvalidValue("A message needs text, files or data.")
    return parts


async def _attached(part: dict[str, Any], conversations: Conversations, scope: Scope) -> Any:
    """Keep a file that comes in a `data:` address, or find one that is kept here. No other address is looked at."""
    url, name = part.get("url"), part.get("filename")
    if not isinstance(url, str):
        raise InvalidValue("A file has a `url`.")
    if OUR_FILES in url and not url.startswith("data:"):
        return await conversations.attach(url.rpartition(OUR_FILES)[2], scope=scope)
    if not url.startswith("data:"):
        raise InvalidValue("A file comes as a `data:` address, or was uploaded here; other addresses are not asked.")
    data = await asyncio.to_thread(_decoded, url)
    return await conversations.attach((safe_file_name(name) if isinstance(name, str) else "", data), scope=scope)


def _decoded(url: str) -> bytes:
    about, comma, data = url.partition(",")
    try:
        if not comma:
            raise ValueError
        return b64decode(data, validate=True) if about.endswith(";base64") else unquote_to_bytes(data)
    except (ValueError, binascii.Error):
        raise InvalidValue("The `data:` address of a file cannot be read.") from None
