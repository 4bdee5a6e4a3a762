"""MCP servers as the settings name them, one table `[mcp.servers.NAME]` of threadkeep.toml each, and their tools.

They are kept connected, and a message can never name another server.

What speaks the protocol is in a package around the core, loaded when the first server is started.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from threadkeep.background import supervised
from threadkeep.errors import PackageMissing
from threadkeep.rings import TOOL_SERVERS, load
from threadkeep.tools.base import DEFAULT_TIMEOUT, Tool

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*")


def _check_name(name: str) -> str:
    """Return the name. It has no "__" and no "_" at its end, so that `server__tool` can be read in one way only."""
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise ValueError(
            f"{name!r} cannot name an MCP server: a letter, then letters, digits, '-' or single '_', up to 40"
        )
    return name


McpServerName = Annotated[str, AfterValidator(_check_name)]


class McpServer(BaseModel):
    """One server: a command to start (stdio), or a URL to call (streamable HTTP).

    `approve` is which calls a person must agree to: all, none, or those of tools that the server does not declare
    harmless; calls of the tools in `allow` (by the server's names) never need it. `timeout` is seconds for one call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = Field(default=None, pattern=r"^https?://")
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    approve: bool | Literal["destructive"] = True
    allow: tuple[str, ...] = ()
    timeout: float = Field(default=DEFAULT_TIMEOUT, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server has either a command or a url")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd belong to a server with a command")
        if self.command is not None and self.headers:
            raise ValueError("headers belong to a server with a url")
        return self


class Connected(StrEnum):
    """Whether the tools of a server can be called."""

    CONNECTING = "connecting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpState:
    """The state of a server and the number of its tools. `reason` is why it failed last, also while it reconnects."""

    server: str
    state: Connected = Connected.CONNECTING
    reason: str | None = None
    tools: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Seconds between two attempts: the wait is doubled each time, from the first to the longest.

    After a connection that held for longer than the longest wait, it begins with the first again.
    """

    first: float = 0.5
    longest: float = 60.0

    def after(self, held: float, last: float | None) -> float:
        """Return how long to wait after a connection that held for so many seconds, and after the last wait."""
        if last is None or held > self.longest:
            return self.first
        return min(last * 2, self.longest)


class McpConnection(ABC):
    """One server as it is now: its state and its tools. `tried` is set once it was reached or has failed."""

    state: McpState
    tools: tuple[Tool, ...]
    tried: asyncio.Event

    @abstractmethod
    async def run(self) -> None:
        """Keep the connection open until `stop`, and open it again when it is lost."""

    @abstractmethod
    def stop(self) -> None:
        """Have `run` close the connection and return."""


class McpServers:
    """Connections to the configured servers; `tools` and `states` are as of now, because servers come and go."""

    def __init__(self, configs: Mapping[str, McpServer], backoff: Backoff | None = None) -> None:
        self._configs = dict(configs)
        self._backoff = backoff or Backoff()
        self._states = {name: McpState(server=name) for name in configs}
        self._connections: dict[str, McpConnection] = {}
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
            connect = load(TOOL_SERVERS, "mcp", "connections to MCP servers")
        except PackageMissing:
            self._states = {name: _not_installed(name) for name in self._configs}
            return
        self._connections = {name: connect(name, each, self._backoff) for name, each in self._configs.items()}
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
