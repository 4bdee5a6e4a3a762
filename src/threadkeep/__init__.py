"""Threadkeep keeps conversations with language models.

    async with threadkeep.open("sqlite:///chat.db") as conversations:
        conversation = await conversations.create()
        turn = await conversation.send("Hello")
        print(await turn.answer())

Importing this package is cheap: the names below are loaded when they are first used, and no driver, server or vendor is
loaded before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadkeep.context.base import Policy, Window
    from threadkeep.conversation.conversation import Conversation
    from threadkeep.conversation.cursor import Cursor
    from threadkeep.conversation.events import (
        BlockAdded,
        CallDecided,
        ConversationUpdated,
        Event,
        HeadChosen,
        MessageCompleted,
        MessageStarted,
        ReadersCounted,
        ReasoningDelta,
        SpoolChanged,
        StateChanged,
        TextDelta,
        ToolCalled,
        ToolReturned,
        TurnEnded,
        TurnQueued,
        TurnRetrying,
        TurnStarted,
        TurnWaiting,
    )
    from threadkeep.conversation.message import Message
    from threadkeep.conversation.scope import Scope
    from threadkeep.conversation.turn import Failure
    from threadkeep.conversation_handle import ConversationHandle, TurnHandle, TurnOutcome
    from threadkeep.conversations import Conversations
    from threadkeep.errors import ThreadkeepError
    from threadkeep.llm.base import ModelOptions
    from threadkeep.runtime import open  # noqa: A004
    from threadkeep.store.base import Store
    from threadkeep.tools.base import ToolContext, ToolOutcome
    from threadkeep.tools.decorator import tool
    from threadkeep.tools.registry import Registry
    from threadkeep.turn.assistant import Assistant

__version__ = "0.1.0"

__all__ = [
    "Assistant",
    "BlockAdded",
    "CallDecided",
    "Conversation",
    "ConversationHandle",
    "ConversationUpdated",
    "Conversations",
    "Cursor",
    "Event",
    "Failure",
    "HeadChosen",
    "Message",
    "MessageCompleted",
    "MessageStarted",
    "ModelOptions",
    "Policy",
    "ReadersCounted",
    "ReasoningDelta",
    "Registry",
    "Scope",
    "SpoolChanged",
    "StateChanged",
    "Store",
    "TextDelta",
    "ThreadkeepError",
    "ToolCalled",
    "ToolContext",
    "ToolOutcome",
    "ToolReturned",
    "TurnEnded",
    "TurnHandle",
    "TurnOutcome",
    "TurnQueued",
    "TurnRetrying",
    "TurnStarted",
    "TurnWaiting",
    "Window",
    "open",
    "tool",
]

_HOMES = {
    "Assistant": "turn.assistant",
    "BlockAdded": "conversation.events",
    "CallDecided": "conversation.events",
    "Conversation": "conversation.conversation",
    "ConversationHandle": "conversation_handle",
    "ConversationUpdated": "conversation.events",
    "Conversations": "conversations",
    "Cursor": "conversation.cursor",
    "Event": "conversation.events",
    "Failure": "conversation.turn",
    "HeadChosen": "conversation.events",
    "Message": "conversation.message",
    "MessageCompleted": "conversation.events",
    "MessageStarted": "conversation.events",
    "ModelOptions": "llm.base",
    "Policy": "context.base",
    "ReadersCounted": "conversation.events",
    "ReasoningDelta": "conversation.events",
    "SpoolChanged": "conversation.events",
    "Registry": "tools.registry",
    "Scope": "conversation.scope",
    "StateChanged": "conversation.events",
    "Store": "store.base",
    "TextDelta": "conversation.events",
    "ThreadkeepError": "errors",
    "ToolCalled": "conversation.events",
    "ToolContext": "tools.base",
    "ToolOutcome": "tools.base",
    "ToolReturned": "conversation.events",
    "TurnEnded": "conversation.events",
    "TurnHandle": "conversation_handle",
    "TurnOutcome": "conversation_handle",
    "TurnQueued": "conversation.events",
    "TurnRetrying": "conversation.events",
    "TurnStarted": "conversation.events",
    "TurnWaiting": "conversation.events",
    "Window": "context.base",
    "open": "runtime",
    "tool": "tools.decorator",
}


_NAMES = "threadkeep.names"
"""The entry points by which packages around the core add names here; `__all__` has only those that are always there."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"threadkeep.{_HOMES[name]}"), name)
    for point in () if name.startswith("_") else import_module("threadkeep.rings").offered(_NAMES):
        if point.name == name:
            return point.load()
    raise AttributeError(f"module 'threadkeep' has no attribute {name!r}, and no installed package adds it")
