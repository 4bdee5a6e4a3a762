"""A tool of an MCP server. The server checks the arguments itself, and answers with what is wrong."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from mcp.types import Tool as Listed
from mcp.types import ToolAnnotations

from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome
from threadkeep.tools.mcp_config import McpServer
from threadkeep.tools.mcp_name import tool_name
from threadkeep.tools.outcome import attempt, storable

Call = Callable[[str, Mapping[str, Any]], Awaitable[ToolOutcome]]
"""Calls a tool of one server by the name that the server gave it."""


class McpTool(Tool):
    """One tool that a server listed."""

    def __init__(self, server: str, config: McpServer, listed: Listed, call: Call) -> None:
        hints = listed.annotations or ToolAnnotations()
        self.spec = ToolSpec(
            name=tool_name(server, listed.name),
            description=storable(listed.description or listed.title or ""),
            parameters={"type": "object", "properties": {}} | listed.input_schema,
        )
        self.repeatable = bool(hints.read_only_hint or hints.idempotent_hint)
        asks = _may_harm(hints) if config.approve == "destructive" else config.approve
        self.needs_approval = asks and listed.name not in config.allow
        self._name = listed.name
        self._timeout = config.timeout
        self._call = call

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Have the server run the call within the time limit, and return how it went."""
        return await attempt(lambda: self._call(self._name, args), self._timeout)


def tools_from(server: str, config: McpServer, listed: Iterable[Listed], call: Call) -> tuple[Tool, ...]:
    """Return what a server listed as tools, sorted by name so that a model always sees the same list."""
    found: dict[str, Tool] = {}
    for each in listed:
        tool = McpTool(server, config, each, call)
        found.setdefault(tool.spec.name, tool)
    return tuple(found[name] for name in sorted(found))


def _may_harm(hints: ToolAnnotations) -> bool:
    """Whether a tool may destroy something; one that says nothing may."""
    return not hints.read_only_hint and hints.destructive_hint is not False
