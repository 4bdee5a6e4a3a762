"""The transport to an MCP server, by its settings: a process that we start (stdio), or streamable HTTP.

A thread reads the standard error of a process, which would otherwise stop at a full pipe; its last lines are shown when
the process does not start or dies.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self, TextIO

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from threadkeep.tools.mcp import McpServer

_CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 300.0
_LARGEST_EVENT = 64 * 1024 * 1024
_KEPT_LINES = 5
_KEPT_CHARACTERS = 300
_READING_SECONDS = 1.0

_log = logging.getLogger(__name__)


class StderrTail:
    """The end of what one process wrote to its standard error; empty where there is no process."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader: threading.Thread | None = None

    @contextmanager
    def file(self) -> Iterator[TextIO]:
        """Open the file to hand to the process as its standard error."""
        reading, writing = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(reading,), name="mcp-stderr", daemon=True)
        self._reader.start()
        with os.fdopen(writing, "w") as file:
            yield file

    async def text(self) -> str:
        """Return the last lines. The process has ended by now, so this waits only for the thread to read the rest."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.join, _READING_SECONDS)
        return "\n".join(self._lines)[-_KEPT_CHARACTERS:]

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "r", encoding="utf-8", errors="replace") as pipe:
            for line in pipe:
                _log.debug("%s: %s", self._server, line.rstrip())
                if line.strip():
                    self._lines.append(line.strip())


@asynccontextmanager
async def open_transport(config: McpServer, stderr: StderrTail, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Open the streams to and from a server; `on_end` is called when the server's stream has ended."""
    async with _streams(config, stderr) as (reading, writing):
        yield _Watched(reading, on_end), writing


@asynccontextmanager
async def _streams(config: McpServer, stderr: StderrTail) -> AsyncIterator[Any]:
    if config.url is None:
        started = StdioServerParameters(
            command=config.command or "", args=list(config.args), env=config.env, cwd=config.cwd
        )
        with stderr.file() as errors:
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
