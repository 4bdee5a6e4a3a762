"""A server that speaks OpenAI's streaming chat completions over a real socket, as a test tells it to, well or badly.

It plays one answer for each request, in order, and fails a request that the test did not expect. It needs nothing but
the standard library. The answers, good and bad, are in `openai_answers`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

CUT = "cut"
"""A step at which the connection is torn down."""

Step = bytes | asyncio.Event | str
"""Bytes are sent, an event is waited for, `CUT` ends it all."""


@dataclass(frozen=True, slots=True)
class Played:
    """One answer: status, headers, and what is sent step by step; in chunks, so that a cut can be told from an end."""

    steps: tuple[Step, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    chunked: bool = True


@dataclass
class OpenAiServer:
    """What a test sees of the server. `hung_up` is set when a client leaves before its answer has ended."""

    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    unexpected: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    answers: list[Played] = field(default_factory=list)
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take up a connection."""
        self._connections.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def close(self) -> None:
        """End what is still being answered."""
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request on one connection."""
        try:
            await self._answer(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._take(reader)
            playing = asyncio.create_task(_play(self._next(), writer))
            leaving = asyncio.create_task(reader.read())
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                self.hung_up.set()
            for task in (playing, leaving):
                task.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.paths.append(head[0].split()[1])
        self.headers.append(headers)
        self.requests.append(json.loads(body or b"{}"))

    def _next(self) -> Played:
        if self.answers:
            return self.answers.pop(0)
        self.unexpected += 1
        return Played((b'{"error": {"message": "the test did not expect this request"}}',), 418, {})


async def _play(answer: Played, writer: asyncio.StreamWriter) -> None:
    lines = [f"HTTP/1.1 {answer.status} Played", "Connection: close"]
    lines += ["Transfer-Encoding: chunked"] if answer.chunked else []
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    for step in answer.steps:
        match step:
            case bytes():
                writer.write(b"%x\r\n%s\r\n" % (len(step), step) if answer.chunked else step)
                await writer.drain()
            case asyncio.Event():
                await step.wait()
            case _:
                writer.transport.abort()
                return
    writer.write(b"0\r\n\r\n" if answer.chunked else b"")
    await writer.drain()


@asynccontextmanager
async def openai_server(*answers: Played) -> AsyncIterator[OpenAiServer]:
    """Run the server on a free port of the loopback interface."""
    served = OpenAiServer(answers=list(answers))
    server = await asyncio.start_server(served.connected, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        async with server:
            yield served
    finally:
        await served.close()
