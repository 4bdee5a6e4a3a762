"""Threadkeep keeps conversations with language models.

    async with threadkeep.open("sqlite:///chat.db") as keeper:
        chat = await keeper.create()
        turn = await chat.send("Hello")
        print(await turn.answer())

Importing this package is cheap: the names below are loaded when they are first used, and no driver, server or vendor is
loaded before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadkeep.context.base import Policy, Window
    from threadkeep.conversation.cursor import Cursor
    from threadkeep.conversation.message import Message
    from threadkeep.conversation.scope import Scope
    from threadkeep.runtime import open  # noqa: A004
    from threadkeep.tools.base import ToolContext, ToolOutcome
    from threadkeep.tools.decorator import tool
    from threadkeep.tools.registry import Registry
    from threadkeep.turn.assistant import Assistant

__version__ = "0.1.0"

__all__ = [
    "Assistant",
    "Cursor",
    "Message",
    "Policy",
    "Registry",
    "Scope",
    "ToolContext",
    "ToolOutcome",
    "Window",
    "open",
    "tool",
]

_HOMES = {
    "Assistant": "turn.assistant",
    "Cursor": "conversation.cursor",
    "Message": "conversation.message",
    "Policy": "context.base",
    "Registry": "tools.registry",
    "Scope": "conversation.scope",
    "ToolContext": "tools.base",
    "ToolOutcome": "tools.base",
    "Window": "context.base",
    "open": "runtime",
    "tool": "tools.decorator",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'threadkeep' has no attribute {name!r}")
    return getattr(import_module(f"threadkeep.{_HOMES[name]}"), name)
