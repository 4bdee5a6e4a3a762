"""What clients say under ids of their own: how such a message is named here, and where it is in the log."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import BETWEEN_TEXTS
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.server.requests import SentText
from threadkeep_protocols.chats import log_behind, newest_first

_DERIVED = 9
"""How many characters are put behind the id of a message for one that is an edit of it: a dot and a digest."""


def text_in(parts: Iterable[Mapping[str, Any]]) -> str:
    """Return all that parts of the type `text` say."""
    texts = (part.get("text") for part in parts if part.get("type") == "text")
    return BETWEEN_TEXTS.join(text for text in texts if isinstance(text, str) and text)


class Said(BaseModel):
    """A message as a client has it."""

    model_config = ConfigDict(frozen=True)
    id: SentText = Field(default="", max_length=2000)

    @property
    def text(self) -> str:
        """All that it says."""
        raise NotImplementedError

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

    def stands_in(self, entry: Entry) -> bool:
        """Whether an entry is this message, as it is."""
        return isinstance(entry.body, Message) and self.may_be(entry.body) and entry.body.content == self.text


async def question(chat: ConversationHandle, message: Said) -> Entry | None:
    """Return the entry of a person's message: the one with its text, else the newest that has its id."""
    fitting: Entry | None = None
    async for entry in newest_first(chat):
        if message.stands_in(entry):
            return entry
        if fitting is None and isinstance(entry.body, Message) and message.may_be(entry.body):
            fitting = entry
    return fitting


async def wait_for(chat: ConversationHandle, turn: int, calls: set[str]) -> int | None:
    """Return the position at which a turn began to wait for answers about calls, the last time it did."""
    found = None
    async for entry in log_behind(chat, turn - 1):
        change = entry.body
        if entry.turn == turn and isinstance(change, TurnChange) and change.state is TurnState.WAITING:
            found = entry.seq if calls & {*change.calls} else found
    return None if found is None else Cursor(seq=found).position
