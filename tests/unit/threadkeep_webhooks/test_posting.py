"""Where events may go, and that a receiver can neither hold them up nor lead them elsewhere."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.webhook_receiver import PRIVATE, SECRET, receiving
from threadkeep_webhooks.posting import Post, Undelivered
from threadkeep_webhooks.tables import WebhookTarget


def target(url: str) -> WebhookTarget:
    return WebhookTarget.model_validate(
        {"id": "app", "tenant": "acme", "url": url, "secret": SECRET, "since": datetime.now(UTC)}
    )


async def why(post: Post, url: str) -> str:
    with pytest.raises(Undelivered) as caught:
        await post.send(target(url), "msg_1", "{}")
    return str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "169.254.169.254",
        "192.168.0.1",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "[::1]",
        "[fd00::1]",
        "[fe80::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[64:ff9b:1::7f00:1]",
        "[::127.0.0.1]",
        "[fec0::1]",
        "192.0.0.8",
        "2130706433",
        "0x7f.1",
    ],
)
async def test_a_private_address_is_refused_however_it_is_written(host: str) -> None:
    assert await why(Post(), f"https://{host}:9/hook") in (
        "its address is private, and not in a network that the settings allow",
        "its host is not known",
    )


async def test_a_name_with_one_private_address_is_refused_and_what_was_looked_up_is_where_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = ["93.184.216.34", "10.0.0.1"]
    looked_up = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    assert "private" in await why(Post(), "https://example.org/hook")
    with receiving() as receiver:
        found[:] = ["127.0.0.1"]
        port = receiver.url.rsplit(":", 1)[1]
        await Post(PRIVATE).send(target(f"http://example.org:{port}"), "msg_1", '{"type": "test"}')
        assert [event for _, event in receiver.taken] == [{"type": "test"}]
    assert looked_up == ["example.org", "example.org"]


async def test_http_is_spoken_in_private_networks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await why(Post(PRIVATE), "http://93.184.216.34/hook") == "it is to be reached by https"


async def test_a_redirect_is_not_followed_and_what_is_refused_says_the_status() -> None:
    with receiving() as receiver:
        for status in (302, 404, 500):
            receiver.answers = lambda _, status=status: status  # type: ignore[misc]
            assert await why(Post(PRIVATE), receiver.url) == f"it answered {status}"
        assert receiver.tried == 3


@asynccontextmanager
async def answering(answer: bytes, *, again: bool = False) -> AsyncIterator[str]:
    """Answer whoever connects with some bytes, again and again, and then nothing."""
    waiting = asyncio.Event()

    async def answer_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(answer)
            while again:
                writer.write(b"x" * 65536)
                await writer.drain()
            await waiting.wait()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer_one, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    waiting.set()
    server.close()


async def test_who_hangs_is_left_after_a_while() -> None:
    for said in (b"", b"HTTP/1.1 200 OK\r\nx: "):
        async with answering(said) as url:
            assert await why(Post(PRIVATE, seconds=0.2), url) == "it did not answer within 0.2 seconds"


async def test_a_flood_is_not_read() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n", again=True) as url:
        await Post(PRIVATE).send(target(url), "msg_1", "{}")
    async with answering(b"HTTP/1.1 200 OK\r\nx: ", again=True) as url:
        assert "it cannot be reached" in await why(Post(PRIVATE), url)
