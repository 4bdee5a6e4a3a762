"""A tool server that is a program on this machine: one JSON message a line over its standard input and output.

`watcher.py` starts it, and ends it with everything that it started, also if this process is killed. A line that is too
long ends the connection. What the program writes to its standard error is for the operator's log, shortened and without
the secrets that the settings gave it.
"""

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from threadkeep.tools.mcp import McpServer

LARGEST_MESSAGE = 16 << 20
"""The largest message in bytes that is taken from a server, over any transport."""
_WATCHER = str(Path(__file__).with_name("watcher.py"))
_ENDING_SECONDS = 10.0
_LONGEST_LINE = 8192
_TOO_LONG = f"(a line of more than {_LONGEST_LINE} bytes)"
_SHOWN_CHARACTERS = 300
_READING_SECONDS = 1.0
_SHORTEST_SECRET = 4
_SECRETS = ("token", "key", "secret", "password", "auth")
"""What the name of an option has in it whose value is a secret."""

_log = logging.getLogger("threadkeep.mcp.program")


class Redaction:
    """Shortens what a server said and takes out the secrets that the settings have for it."""

    def __init__(self, config: McpServer) -> None:
        lines = {line.strip() for secret in _secrets(config) for line in secret.splitlines()}
        self._secrets = sorted((line for line in lines if len(line) >= _SHORTEST_SECRET), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + " …"


def _secrets(config: McpServer) -> Iterator[str]:
    yield from config.env.values()
    for value in config.headers.values():
        yield from (value, value.rpartition(" ")[2])
    address = urlsplit(config.url or "")
    yield address.password or ""
    yield from (value for _, value in parse_qsl(address.query))
    for option, following in pairwise((*config.args, "")):
        name, _, value = option.partition("=")
        if name.startswith("-") and any(word in name.lower() for word in _SECRETS):
            yield value or following


class Stderr:
    """What one program writes to its standard error; nothing where there is no program."""

    def __init__(self, server: str, redacted: Redaction) -> None:
        self.last = ""
        self._server = server
        self._redacted = redacted
        self.is_read = anyio.Event()

    async def follow(self, process: Process) -> None:
        """Read to the end, so that the program never waits, and keep the last line."""
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        line = b""
        try:
            while chunk := await process.stderr.read(_LONGEST_LINE):
                *whole, line = (line + chunk).split(b"\n")
                for each in whole:
                    self._tell(each)
                line = line[: _LONGEST_LINE + 1]
            self._tell(line)
        finally:
            self.is_read.set()

    def _tell(self, line: bytes) -> None:
        # A line that is too long is not shown: it may have been cut within a secret.
        text = line.decode("utf-8", "replace").strip() if len(line) <= _LONGEST_LINE else _TOO_LONG
        if said := self._redacted(text):
            self.last = said
            _log.debug("%s: %s", self._server, said)


@asynccontextmanager
async def program_streams(config: McpServer, stderr: Stderr) -> AsyncIterator[Any]:
    """Start a server's program and yield its streams of messages, to read and to write; end it afterwards."""
    loop = asyncio.get_running_loop()
    await anyio.lowlevel.checkpoint()
    with anyio.CancelScope(shield=True):  # nobody would end a process that is only half started
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=LARGEST_MESSAGE, loop=loop),
            *(sys.executable, "-I", "-S", _WATCHER, config.command or "", *config.args),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=get_default_environment() | config.env,
            cwd=config.cwd,
            start_new_session=True,
        )
    process = Process(transport, protocol, loop)
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as beside:
        beside.start_soon(_read, process, incoming)
        beside.start_soon(_write, process, outgoing, incoming)
        beside.start_soon(stderr.follow, process)
        try:
            yield reading, writing
        finally:
            with anyio.CancelScope(shield=True):
                reading.close()
                writing.close()
                await _end(process, stderr)
            transport.close()
            beside.cancel_scope.cancel()


async def _read(process: Process, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Pass on what the program says, until it ends, sends a line that is too long, or nobody reads any more."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    async with incoming:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            try:
                while line := await process.stdout.readline():
                    if (message := _message(line)) is not None:
                        await incoming.send(message)
            except ValueError:
                _log.warning("a tool server sent a message of more than %s bytes: its connection ends", LARGEST_MESSAGE)
    while await process.stdout.read(1 << 16):
        pass  # a program that waits for its output to be read would not notice the end of its input


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None  # programs that print something else are common


async def _write(
    process: Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Write what the session says. If that fails, the session sees the end of its messages."""
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    async with outgoing:
        try:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(line.encode() + b"\n")
                await process.stdin.drain()
        except OSError:
            await incoming.aclose()


async def _end(process: Process, stderr: Stderr) -> None:
    """End the program's input, wait until the watcher has ended the program, and read its last words."""
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    process.stdin.close()
    with anyio.move_on_after(_ENDING_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110 - `wait` also waits for pipes that others may hold open
            await anyio.sleep(0.01)
    with suppress(ProcessLookupError):
        process.kill()
    with anyio.move_on_after(_READING_SECONDS):
        await stderr.is_read.wait()
