"""How an MCP server is doing, and how patiently it is tried again. No part of the `mcp` package is needed to know."""

from dataclasses import dataclass
from enum import StrEnum


class Connected(StrEnum):
    """Whether the tools of a server can be called."""

    CONNECTING = "connecting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpState:
    """A server by name, with the number of its tools. `reason` is why it failed last, also while it is tried again."""

    server: str
    state: Connected = Connected.CONNECTING
    reason: str | None = None
    tools: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Seconds between two tries: the first wait is doubled each time, up to the longest.

    A connection that held for longer than the longest wait begins at the first again.
    """

    first: float = 0.5
    longest: float = 60.0

    def after(self, held: float, last: float | None) -> float:
        """Return how long to wait after a connection that held for so many seconds, and after the last wait."""
        if last is None or held > self.longest:
            return self.first
        return min(last * 2, self.longest)
