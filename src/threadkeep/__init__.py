"""Threadkeep keeps conversations with language models.

    async with threadkeep.open("sqlite:///chat.db") as conversations:
        conversation = await conversations.create()
        turn = await conversation.send("Hello")
        print(await turn.answer())

Importing this package is cheap: the names below are loaded when they are first used, and no driver, server or vendor is
loaded before it is needed. Type checkers read them in `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "context.base": "Policy Window",
    "conversation.blocks": "Block",
    "conversation.conversation": "Conversation",
    "conversation.cursor": "Cursor",
    "conversation.entry": "Entry",
    "conversation.events": (
        "BlockAdded CallDecided ConversationUpdated Event FeedbackGiven HeadChosen MessageCompleted MessageStarted "
        "ReadersCounted ReasoningDelta SpoolChanged StateChanged TextDelta ToolCalled ToolReturned "
        "TurnEnded TurnQueued TurnRetrying TurnStarted TurnWaiting"
    ),
    "conversation.message": "Message Role ToolCall ToolResult Usage",
    "conversation.scope": "Scope",
    "conversation.turn": "BusyPolicy Failure Turn TurnState",
    "conversation_handle": "ConversationHandle",
    "conversations": "Conversations",
    "errors": "ThreadkeepError",
    "llm.base": "CallPart Model ModelOptions Reasoned Request Stopped Text Used",
    "runtime": "open",
    "server.app": "create_app",
    "server.sse": "sse_response",
    "settings": "Settings",
    "store.base": "Store",
    "store.values": "Snapshot",
    "tools.base": "ToolContext ToolOutcome",
    "tools.decorator": "tool",
    "tools.registry": "Registry",
    "turn.agent": "Agent Asked Changed Noted ShownBlock",
    "turn.assistant": "Assistant",
    "turn_handle": "TurnHandle TurnOutcome",
}
"""Where the public names are."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_NAMES = "threadkeep.names"
"""The entry points by which packages around the core add names here; `__all__` has only those that are always there."""

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"threadkeep.{_HOME_OF[name]}"), name)
    for point in () if name.startswith("_") else import_module("threadkeep.rings").offered(_NAMES):
        if point.name == name:
            return point.load()
    raise AttributeError(f"module 'threadkeep' has no attribute {name!r}, and no installed package adds it")
