"""Ids of OpenAI's objects: each says what it is of, so that no table of them is kept.

A response is what a turn says until it ends or waits; what it says after a wait is another response of the same turn,
which `begin`s behind the entry that told of the wait.
"""

import re
from typing import NamedTuple

from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, NotFound
from threadkeep_protocols.dialects.exchange import find

CONVERSATION = "conv_"
APPROVAL = "mcpr_"
_RESPONSE = re.compile(r"resp_([1-9]\d{0,14})(?:\.([1-9]\d{0,14}))?-(.{1,128})")


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
    """Return the id of a message, or of a piece of one."""
    return f"msg_{message}"


def call_item_id(kind: str, message: str, call: ToolCall) -> str:
    """Return the id of an item that is about a call: `fc`, `mcp`."""
    return f"{kind}_{message}-{call.id}"
