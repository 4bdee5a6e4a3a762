"""The way to an MCP server, as its settings say: a process that we start (stdio), or streamable HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from threadkeep.tools.mcp_config import McpServer
from threadkeep.tools.mcp_last_words import LastWords

_CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 300.0
_LARGEST_EVENT = 64 * 1024 * 1024


@asynccontextmanager
async def open_transport(config: McpServer, words: LastWords, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Open the streams to and from a server; `on_end` is called when the server's stream has ended."""
    async with _streams(config, words) as (reading, writing):
        yield _Watched(reading, on_end), writing


@asynccontextmanager
async def _streams(config: McpServer, words: LastWords) -> AsyncIterator[Any]:
    if config.url is None:
        started = StdioServerParameters(
            command=config.command or "", args=list(config.args), env=config.env, cwd=config.cwd
        )
        with words.file() as errors:
            async with stdio_client(started, errlog=errors) as streams:
                yield streams
        return
    limits = httpx2.Timeout(_CONNECT_SECONDS, read=max(_IDLE_SECONDS, config.timeout))
    async with (
        httpx2.AsyncClient(headers=config.headers, timeout=limits) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as streams,
    ):
        yield streams


class _Watched:
    """A stream to read from that tells when it has ended; otherwise the stream behind it."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The sender's context variables, where the stream keeps them."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        """Return the next message."""
        return await self._stream.receive()

    async def aclose(self) -> None:
        """Close the stream; the reader does so at the stream's end."""
        await self._stream.aclose()
        self._on_end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await self._stream.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
