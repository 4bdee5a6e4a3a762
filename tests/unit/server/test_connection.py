"""A connection: heads without end, what is no HTTP, requests behind requests, and clients that leave, fall silent or
never read, over real sockets."""

import asyncio
import json
import socket
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from tests.integration.serving import Server, serving
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.server.connection import MOST_HEAD_BYTES, MOST_QUEUED, Connection, ConnectionLimits, connections_within
from threadkeep.testing.scripted_model import ScriptedModel

HOST = b"Host: 127.0.0.1\r\n"
STREAM = b"GET /v1/events HTTP/1.1\r\n" + HOST + b"\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\n" + HOST + b"\r\n"
CREATE = b"POST /v1/conversations HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


async def _answer(server: Server, *pieces: bytes) -> tuple[bytes, dict[str, object]]:
    """Send pieces until the server hangs up; return its status line and problem."""
    reader, writer = await server.connect()
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    said = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()
    return head.split(b"\r\n")[0], json.loads(body)


async def test_a_head_that_does_not_end_is_given_up() -> None:
    async with serving() as server:
        endless = b"a" * (MOST_HEAD_BYTES // 2)
        status, problem = await _answer(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ", endless, endless)
        assert status == b"HTTP/1.1 431 Request Header Fields Too Large"
        assert problem["code"] == "head_too_large"


async def test_an_address_that_does_not_end_is_given_up_too() -> None:
    async with serving() as server:
        status, _ = await _answer(server, b"GET /", *[b"a" * 30_000] * 3)
        assert status.startswith(b"HTTP/1.1 431")


async def test_what_is_no_http_gets_a_problem() -> None:
    async with serving() as server:
        status, problem = await _answer(server, b"HELLO\r\n\r\n")
        assert (status, problem["code"]) == (b"HTTP/1.1 400 Bad Request", "invalid_http")


async def test_a_long_body_behind_a_short_head_is_no_long_head() -> None:
    async with serving() as server:
        path = await server.conversation()
        said = await server.say(path, "word " * 30_000)
        assert said.status_code == 200
        assert (await server.client.get("/health/live")).status_code == 200


async def test_a_request_before_what_is_no_http_is_still_answered() -> None:
    async with serving() as server:
        path = await server.conversation()
        body = b'{"content": "Hello"}'
        head = f"POST {path}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        whole = head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body + b"and \x00 more\r\n\r\n"
        reader, writer = await server.connect()
        writer.write(whole)
        said = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert said.startswith(b"HTTP/1.1 200 OK")
        assert said.count(b"HTTP/1.1") == 1
        assert b'"state":"completed"' in said


async def test_a_stream_whose_request_has_too_large_a_body_ends() -> None:
    async with serving() as server:
        for body in (b"[" + b"[]," * 60_000 + b"[]]", b" " * 9_000_000):
            reader, writer = await server.connect()
            length = f"Content-Length: {len(body)}\r\n\r\n".encode()
            writer.write(STREAM.removesuffix(b"\r\n") + length + body)
            said = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert said.startswith((b"HTTP/1.1 200", b"HTTP/1.1 413"))
            await server.until_nothing_is_asked()
            writer.close()
        assert 'status="5' not in (await server.client.get("/metrics")).text


async def test_requests_sent_together_are_answered_in_order() -> None:
    async with serving() as server:
        reader, writer = await server.connect()
        last = b"GET /nothing HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
        writer.write(LIVE + LIVE)
        writer.write(LIVE + last)
        said = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"200", b"404"]


BEHIND = (
    b"",
    STREAM,
    LIVE,
    STREAM + b"\x00\x01 no HTTP\r\n\r\n",
    b"\x00\x01 no HTTP\r\n\r\n",
    CREATE + b"Content-Length: 100\r\n\r\n{",
    CREATE + b"Content-Length: 900000\r\n\r\n" + b" " * 300_000,
    CREATE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HT",
    LIVE * (MOST_QUEUED + 2),
)


async def test_a_stream_ends_with_its_connection_whatever_was_sent_behind_its_request() -> None:
    async with serving() as server:
        for behind in BEHIND * 3:
            reader, writer = await server.connect()
            writer.write(STREAM)
            await asyncio.wait_for(reader.readuntil(b"retry: 1000"), 30)
            writer.write(behind)
            writer.close()
        await server.until_nothing_is_asked()


@pytest.mark.parametrize(
    ("half", "status"),
    [
        (CREATE + b"Content-Length: 100\r\n\r\n{", None),
        (CREATE + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", None),
        (CREATE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 400 Bad Request"),
        (CREATE + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"GET /v1/events HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", None),
    ],
)
async def test_a_request_whose_body_is_broken_or_never_comes_is_let_go(half: bytes, status: bytes | None) -> None:
    async with serving() as server:
        if status is not None:
            assert (await _answer(server, half))[0] == status
        else:
            reader, writer = await server.connect()
            writer.write(half)
            writer.write_eof()
            await asyncio.wait_for(reader.read(), 30)
            writer.close()
        await server.until_nothing_is_asked()


@pytest.mark.parametrize("path", ["{path}/messages", "/api/v1/chat"])
async def test_who_waits_for_an_answer_and_leaves_is_not_waited_for(path: str) -> None:
    never = asyncio.Event()
    async with serving(model=ScriptedModel([never])) as server:
        body = b'{"content": "Hello"}' if "path" in path else b'{"message": "Hello"}'
        address = path.format(path=await server.conversation()).encode()
        _, writer = await server.connect()
        head = b"POST " + address + b" HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
        writer.write(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while not server.conversations._runner.deps.admission.running:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
        writer.close()
        await server.until_nothing_is_asked()
        assert 'status="499"} 1' in (await server.client.get("/metrics")).text


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
async def test_a_request_to_speak_something_else_is_answered_as_any_other(protocol: bytes) -> None:
    chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    async with serving() as server:
        for rest, late in ((b"\r\n", b""), (b"Content-Length: 2\r\n\r\n{", b"}"), (chunked, b""), (chunked, STREAM)):
            reader, writer = await server.connect()
            writer.write(CREATE + b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n" + rest)
            await writer.drain()
            writer.write(late)
            said = await asyncio.wait_for(reader.read(), 30)
            writer.close()
            assert said.startswith(b"HTTP/1.1 201 Created")
            assert said.count(b"HTTP/1.1") == 1
        await server.until_nothing_is_asked()


class Hasty(Connection):
    """Waits for nothing."""

    head_seconds = body_seconds = reader_seconds = 0.05

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.timeout_keep_alive = 0.05  # type: ignore[assignment]


@pytest.mark.parametrize("asked", [b"", LIVE])
@pytest.mark.parametrize("blank", [b"", b"\r\n"])
async def test_a_connection_on_which_nothing_is_asked_is_closed(asked: bytes, blank: bytes) -> None:
    async with serving(connection=Hasty) as server:
        reader, writer = await server.connect()
        writer.write(asked)
        if asked:
            await asyncio.wait_for(reader.readuntil(b"}"), 30)
        writer.write(blank)
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()


@pytest.mark.parametrize("half", [b"GET / HTT", CREATE, CREATE + b"Content-Length: 100\r\n\r\n{"])
async def test_a_request_that_does_not_arrive_in_time_is_given_up(half: bytes) -> None:
    async with serving(connection=Hasty) as server:
        status, problem = await _answer(server, half)
        assert (status, problem["code"]) == (b"HTTP/1.1 408 Request Timeout", "request_timeout")
        await server.until_nothing_is_asked()


async def test_a_reader_that_never_reads_is_cut_off() -> None:
    async with serving(connection=Hasty) as server:
        path = await server.conversation()
        stored = server.conversations.at(LOCAL, path.rpartition("/")[2])
        await stored.append(*[Message(role=Role.USER, content="word " * 180_000)] * 8)
        reader, writer = await server.connect()
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(f"GET {path}/events?after=0 HTTP/1.1\r\n".encode() + HOST + b"\r\n")
        await server.until_streams(1)
        await server.until_nothing_is_asked()
        writer.close()


async def test_small_answers_are_sent_at_once() -> None:
    async with serving() as server:
        await server.client.get("/health/live")
        for connection in server.web.server_state.connections:
            accepted: socket.socket = connection.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert server.web.server_state.connections


async def _is_taken(server: Server) -> bool:
    """Open a connection that stays, and ask whether it is answered."""
    reader, writer = await server.connect()
    writer.write(LIVE)
    said = await asyncio.wait_for(reader.readuntil(b"}"), 30)
    if b"too_many_connections" in said:
        assert said.startswith(b"HTTP/1.1 503 Service Unavailable")
        writer.close()
        return False
    kept.append(writer)
    return True


kept: list[asyncio.StreamWriter] = []


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (ConnectionLimits(3), 3),
        (ConnectionLimits(10, 2), 2),
        (ConnectionLimits(3, 2, ["127.0.0.0/8"]), 3),
        (ConnectionLimits(10, 4, ["10.0.0.1"]), 4),
    ],
)
async def test_there_are_only_so_many_connections(limits: ConnectionLimits, taken: int) -> None:
    async with serving(connection=partial(Connection, limits=limits)) as server:
        assert [await _is_taken(server) for _ in range(taken + 2)] == [True] * taken + [False] * 2
        kept.pop().close()
        while limits.open == taken:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
        assert await _is_taken(server)
        while kept:
            kept.pop().close()


def test_connections_leave_files_for_everything_else() -> None:
    assert [connections_within(files) for files in (256, 1024, 65_536)] == [192, 768, 49_152]


SHOW = """
import gc
from threadkeep.server.connection import GC_THRESHOLDS, tune_garbage_collector
tune_garbage_collector()
print(gc.get_freeze_count() > 1000, gc.isenabled(), gc.get_threshold() == GC_THRESHOLDS)
"""


def test_what_the_start_has_made_is_not_looked_at_again_and_the_rest_still_is() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.split() == ["True", "True", "True"]
