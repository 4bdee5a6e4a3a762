"""The MCP servers that the settings name, kept connected, and their tools. A message can never name another server."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from threadkeep.background import supervised
from threadkeep.tools.base import Tool
from threadkeep.tools.mcp import Backoff, Connected, McpServer, McpState

if TYPE_CHECKING:
    from threadkeep.tools.mcp.connection import Connection


class McpServers:
    """Connections to the configured servers; `tools` and `states` are as of now, because servers come and go."""

    def __init__(self, configs: Mapping[str, McpServer], backoff: Backoff | None = None) -> None:
        self._configs = dict(configs)
        self._backoff = backoff or Backoff()
        self._states = {name: McpState(server=name) for name in configs}
        self._connections: dict[str, Connection] = {}
        self._owners: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin to connect to every server, and return at once: `settled` waits."""
        if not self._configs or self._owners:
            return
        try:
            from threadkeep.tools.mcp.connection import Connection
        except ImportError:
            self._states = {name: _not_installed(name) for name in self._configs}
            return
        self._connections = {name: Connection(name, each, self._backoff) for name, each in self._configs.items()}
        self._owners = [
            asyncio.create_task(supervised(f"the MCP server {name}", connection.run), name=f"mcp {name}")
            for name, connection in self._connections.items()
        ]

    async def settled(self, timeout: float) -> bool:
        """Wait at most so many seconds until every server was reached or has failed once; return whether all have."""
        tried = [asyncio.create_task(connection.tried.wait()) for connection in self._connections.values()]
        if not tried:
            return True
        _, late = await asyncio.wait(tried, timeout=timeout)
        for task in late:
            task.cancel()
        return not late

    async def close(self) -> None:
        for connection in self._connections.values():
            connection.stop()
        await asyncio.gather(*self._owners)
        self._owners = []

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers as they were listed last, in a stable order."""
        return tuple(tool for connection in self._connections.values() for tool in connection.tools)

    def ready(self) -> dict[str, bool]:
        """Return for each server whether its tools can be called."""
        return {state.server: state.state is Connected.READY for state in self.states()}

    def states(self) -> tuple[McpState, ...]:
        """Return the state of each server, in the order of the settings."""
        now = {name: connection.state for name, connection in self._connections.items()}
        return tuple((self._states | now).values())


def _not_installed(server: str) -> McpState:
    reason = "the package `mcp` is not installed: pip install 'threadkeep[mcp]'"
    return McpState(server=server, state=Connected.FAILED, reason=reason)
