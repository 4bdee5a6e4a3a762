"""Ids of OpenAI's objects: each says what it is of, so that no table of them is kept.

A response is what a turn says until it ends or waits; what it says after a wait is another response of the same turn,
which `begin`s behind the entry that told of the wait.
"""

import re
from typing import NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, NotFound
from threadkeep_protocols.dialects.exchange import find

CONVERSATION = "conv_"
APPROVAL = "mcpr_"
_RESPONSE = re.compile(r"resp_([1-9]\d{0,14})(?:\.([1-9]\d{0,14}))?-(.{1,128})")

_ITEM = re.compile(r"(?:msg|rs|fc|mcp)_[^~].*~([^~]{1,128})")


class ResponseId(NamedTuple):
    """Which part of which turn a response is."""

    conversation: str
    turn: int
    begin: int | None = None

    def __str__(self) -> str:
        begin = "" if self.begin is None else f".{self.begin}"
        return f"resp_{self.turn}{begin}-{self.conversation}"

    @classmethod
    def read(cls, text: str) -> "ResponseId":
        """Return what an id says."""
        found = _RESPONSE.fullmatch(text)
        if found is None:
            raise NotFound("There is no such response.")
        return cls(found[3], int(found[1]), int(found[2]) if found[2] else None)


async def conversation_named(conversations: Conversations, scope: Scope, id: str) -> ConversationHandle:
    """Return a conversation by the id that clients have of it, or by its own."""
    return await find(conversations, scope, id.removeprefix(CONVERSATION))


async def conversation_of(conversations: Conversations, scope: Scope, response: ResponseId) -> ConversationHandle:
    """Return the conversation in which a response is."""
    try:
        return await find(conversations, scope, response.conversation)
    except ConversationNotFound:
        raise NotFound("There is no such response.") from None


def said_id(message: str) -> str:
    """Return the id of what a person said."""
    return f"msg_{message}"


def item_id(kind: str, piece: str, conversation: str) -> str:
    """Return the id of an item of an answer (`msg`, `rs`, `fc`, `mcp`): it says in which conversation the item is, so
    that a client which sends it again, as a part of what was said before, is known to go on there."""
    return f"{kind}_{piece}~{conversation}"


def conversation_in(item: str) -> str | None:
    """Return the conversation that the id of an item says that it is in."""
    found = _ITEM.fullmatch(item)
    return found and found[1]
