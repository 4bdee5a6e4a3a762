"""MCP servers as the settings name them, one table `[mcp.servers.NAME]` of threadkeep.toml each, and their state.

Nothing here needs the `mcp` package, which is an extra: `servers` imports it when the first server is started.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from threadkeep.tools.base import DEFAULT_TIMEOUT

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
