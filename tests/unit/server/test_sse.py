"""Event streams: heartbeats come from beside the reading, and none behind the end."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from tests.integration.serving import serving
from threadkeep.server.sse import EventStream


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream, "heartbeat_seconds", 0.01)


@pytest.mark.parametrize("stream", ["/v1/events", "{path}/events", "/stream?session_id={id}"])
async def test_a_stream_beats_while_the_store_hangs(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*given: object, **named: object) -> None:
        await asyncio.Event().wait()

    async with serving() as server:
        path = await server.conversation()
        reader, writer = await server.connect()
        address = stream.format(path=path, id=path.rpartition("/")[2])
        writer.write(f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await asyncio.wait_for(reader.readuntil(b"retry: 1000"), 30)
        for verb in ("list", "log", "get", "turns"):
            monkeypatch.setattr(server.conversations._store, verb, hang)
        for _ in range(3):
            await asyncio.wait_for(reader.readuntil(b": still here\n\n"), 30)
        writer.close()
        await server.until_nothing_is_asked()


async def test_no_beat_follows_the_end() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.sleep(0.03)
        yield b"two"

    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    await EventStream(chunks()).stream_response(send)
    assert (sent[1], sent[2], sent[-2:]) == (b"one", b": still here\n\n", [b"two", b""])
