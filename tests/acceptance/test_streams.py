"""Streams that are cut: by a proxy at any byte, and by the death of the server. Every reader comes back and goes on."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from tests.acceptance.proxy import CuttingProxy, cutting
from tests.acceptance.stream_reader import Reader
from tests.acceptance.test_stopping import serving as serving_process
from tests.integration.serving import serving
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text
from threadkeep.testing.scripted_model import wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

CUTS, READERS, LONGEST = 1000, 8, 2500
STREAMS, SLOW = 50, "0.1"
PATIENCE = 120.0


@tool(repeatable=True)
async def look() -> str:
    """Look."""
    return "line\r\nline\u2028\x00"


class Endless(Model):
    """Calls tools first, then speaks until it is told to stop."""

    name = "endless"
    window = 10_000_000
    is_scripted = True

    def __init__(self) -> None:
        self.is_enough = False

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Speak at a pace of a thousand words a second."""
        if request.messages[-1].tool_result is None:
            for delta in wants(("c1", "look", {}), ("c2", "look", {})):
                assert not isinstance(delta, BaseException | asyncio.Event)
                yield delta
            return
        number = 0
        while not self.is_enough:
            number += 1
            yield Text(f"word{number}\r\n\u2028ü😀 ")
            await asyncio.sleep(0.001)
        yield Stopped("stop")


async def test_a_stream_cut_at_a_thousand_random_bytes_has_no_gap_and_no_repeat(tmp_path: Path) -> None:
    chance, model = random.Random(20261115), Endless()
    assistant = Assistant(name="helper", instructions="Help.", tools=Registry([look]))
    store = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    async with (
        asyncio.timeout(PATIENCE),
        serving(store, model, [assistant], user_requests_per_second=0) as server,
        cutting(server.url) as (proxy, url),
    ):
        path = await server.conversation(title="Long")
        proxy.cut_after = [chance.randint(1, LONGEST) for _ in range(CUTS)]
        await server.say(path, "talk", Prefer="respond-async")
        readers = [Reader(path) for _ in range(READERS)]
        await asyncio.gather(*(_read_through(reader, proxy, url, model) for reader in readers))
        stored = (await server.client.get(path)).json()["messages"][-1]["content"]
    assert proxy.cuts == CUTS
    for reader in readers:
        reader.check()
        assert reader.told() == readers[0].told()
        assert "".join(event.json()["text"] for event in reader.events if event.event == "text.delta") == stored


async def _read_through(reader: Reader, proxy: CuttingProxy, url: str, model: Endless) -> None:
    """Come back until the turn has ended, each time on a new connection; the model stops at the last cut."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:
        while not reader.is_done:
            await reader.read(client)
            model.is_enough = model.is_enough or proxy.cuts >= CUTS


async def test_after_the_death_of_the_server_fifty_readers_go_on_from_their_cursors(tmp_path: Path) -> None:
    readers: list[Reader] = []
    async with asyncio.timeout(PATIENCE):
        async with serving_process(tmp_path, SLOW, patience=1) as server:
            for _ in range(STREAMS):
                id = await server.conversation()
                await server.ask(id)
                readers.append(Reader(f"/v1/conversations/{id}"))
            reading = [reader.read(server.client, enough=5) for reader in readers]
            await asyncio.gather(*reading)
            rest = [asyncio.create_task(reader.read(server.client)) for reader in readers]
            server.process.kill()
            await asyncio.gather(*rest)
        broken_off = [reader for reader in readers if not reader.is_done]
        assert broken_off, "the server was killed when everything was said already"
        async with serving_process(tmp_path, "0", patience=1) as server:
            await asyncio.gather(*(reader.read(server.client) for reader in readers if not reader.is_done))
            for reader in readers:
                reader.check()
                assert reader.events[-1].event == "turn.completed"
                messages = (await server.client.get(reader.path)).json()["messages"]
                told = [data["message"]["content"] for name, data in reader.told() if name == "message.completed"]
                assert told == [message["content"] for message in messages]
            assert any("interrupted" in str(reader.told()) for reader in broken_off), (
                "no turn was recovered in mid-text"
            )
