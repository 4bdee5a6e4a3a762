"""The transport to an MCP server, by its settings: a program that we start (stdio), or streamable HTTP.

Over HTTP, answers come uncompressed, and one that is no stream of events has a limit, as each event of a stream has.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx2
from mcp.client.streamable_http import streamable_http_client

from threadkeep.tools.mcp import McpServer
from threadkeep_integrations.mcp.program import LARGEST_MESSAGE, Stderr, program_streams

_CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 300.0


@asynccontextmanager
async def open_transport(config: McpServer, stderr: Stderr, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Open the streams to and from a server; `on_end` is called when the server's stream has ended."""
    async with _streams(config, stderr) as (reading, writing):
        yield _Watched(reading, on_end), writing


@asynccontextmanager
async def _streams(config: McpServer, stderr: Stderr) -> AsyncIterator[Any]:
    if config.url is None:
        async with program_streams(config, stderr) as streams:
            yield streams
        return
    limits = httpx2.Timeout(_CONNECT_SECONDS, read=max(_IDLE_SECONDS, config.timeout))
    headers = config.headers | {"Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=limits, event_hooks={"response": [_limit]}) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams


async def _limit(response: httpx2.Response) -> None:
    """Limit how much of an answer is read. One that is compressed is not read: a few bytes could be any number."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        response.stream = _Limited(response.stream, 0)
    elif not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        response.stream = _Limited(response.stream, LARGEST_MESSAGE)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                what = f"has more than {self._most} bytes" if self._most else "is compressed, which was not asked for"
                raise httpx2.ReadError(f"the answer {what}")  # which ends the connection
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Watched:
    """A wrapper of a stream that calls `on_end` when it is closed."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The sender's context variables, where the stream keeps them."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
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
