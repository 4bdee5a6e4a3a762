"""A connection: heads without end and what is no HTTP, over a real socket."""

import asyncio
import json

from tests.integration.serving import Server, serving
from threadkeep.server.connection import MOST_HEAD_BYTES


async def _answer(server: Server, *pieces: bytes) -> tuple[bytes, dict[str, object]]:
    """Send pieces until the server hangs up; return its status line and problem."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
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
        host, _, port = server.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(whole)
        said = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert said.startswith(b"HTTP/1.1 200 OK")
        assert said.count(b"HTTP/1.1") == 1
        assert b'"state":"completed"' in said
