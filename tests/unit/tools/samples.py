"""What the tests of tools share: a context, a call, and tools that do as little as possible."""

from collections.abc import Mapping
from typing import Any

from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome

CONTEXT = ToolContext(scope=LOCAL, conversation="c1", turn=7, call_id="call_1")


def call(tool: str, /, id: str = "call_1", **args: Any) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(id=id, name=tool, args=args)


class Named(Tool):
    """A tool that returns its name, or whatever it is told to, and never looks at its arguments."""

    def __init__(self, name: str, returns: Any = None) -> None:
        self.spec = ToolSpec(name=name, description="", parameters={"type": "object", "properties": {}})
        self._returns = ToolOutcome(content=name) if returns is None else returns

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Return, or raise if it was given an exception."""
        if isinstance(self._returns, BaseException):
            raise self._returns
        outcome: ToolOutcome = self._returns
        return outcome
