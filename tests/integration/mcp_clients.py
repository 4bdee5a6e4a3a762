"""The official client of MCP at a server of ours, as somebody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx2
from mcp import Client
from mcp.client.client import ConnectMode
from mcp.client.streamable_http import streamable_http_client

from tests.integration.breaking import Breaking, Breaks
from tests.integration.serving import PATIENCE

OLD, NEW = "legacy", "2026-07-28"
ERAS: tuple[ConnectMode, ...] = (OLD, NEW)
"""The protocol with a handshake, which most programs speak, and the one without."""


class Served(Protocol):
    """A server at an address."""

    @property
    def url(self) -> str:
        """Where it is."""


@asynccontextmanager
async def mcp_client(
    server: Served, headers: dict[str, str], era: ConnectMode = NEW, breaks: Breaks = lambda request: None
) -> AsyncIterator[Client]:
    """Connect as somebody, perhaps over a network that breaks."""
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, transport=Breaking(breaks)) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=era) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return what a tool answers as JSON; its text is shown to a model."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None
    assert result.content
    return {**result.structured_content, "text": getattr(result.content[0], "text", ""), "is_error": result.is_error}
