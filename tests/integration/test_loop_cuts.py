"""A turn as one request, over a network that cuts it anywhere: the loop takes its lease anew, asks how far it came and
goes on, and readers, who are cut as well, see what they would have seen of a turn that was not."""

import asyncio
import itertools
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.stream_reader import Reader
from tests.backends import url_of
from tests.integration.serving import PATIENCE, Server, serving

CUTS = int(os.environ.get("THREADKEEP_CUTS", "150"))
AT_ONCE = 4
QUESTION = "How warm is it?"
THOUGHT, BEFORE, BEHIND = "I must look. 🙂", "I look 🙂 up\nwhat 日本 says. ", "It is four degrees. 🙂 And tomorrow?"
CALL = [{"type": "call", "id": "c", "name": "look"}, {"type": "result", "call": "c", "content": "4"}]


def _words(kind: str, text: str, chance: random.Random) -> list[dict[str, Any]]:
    """Return a text in pieces of random size."""
    places = sorted({0, len(text), *(chance.randrange(len(text) + 1) for _ in range(6))})
    return [{"type": kind, "text": text[a:b]} for a, b in itertools.pairwise(places)]


class Loop:
    """A loop elsewhere, whose every request may be cut."""

    def __init__(self, server: Server, path: str, begun: dict[str, Any], chance: random.Random) -> None:
        self._server, self._chat, self._chance = server, path, chance
        self._path, self._token = f"{path}/turns/{begun['turn']}", begun["token"]
        self.cuts = 0

    async def run(self) -> None:
        """Write the turn until it is over."""
        while (left := await self._left()) is not None:
            whole = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in left).encode()
            await self._send(whole, self._chance.randrange(1, len(whole)) if self._chance.random() < 0.85 else None)

    async def _left(self) -> list[dict[str, Any]] | None:
        """Return what is left to be said, by what the server tells of the turn."""
        client = self._server.client
        if self.cuts:
            again = await client.post(f"{self._path}/lease")
            self._token = again.json().get("token", self._token)
        stands = (await client.get(self._path)).json()
        if stands["state"] != "running":
            return None
        draft = stands["draft"] or {"text": "", "reasoning": ""}
        said, thought = len(draft["text"]), len(draft["reasoning"])
        messages = (await client.get(self._chat)).json()["messages"]
        end = [{"type": "settle", "state": "completed"}]
        if any(message["tool_calls"] for message in messages):
            return [*CALL, *_words("text", BEHIND[said:], self._chance), *end]  # what is stored is left out
        before = [*_words("reasoning", THOUGHT[thought:], self._chance), *_words("text", BEFORE[said:], self._chance)]
        return [*before, *CALL, *_words("text", BEHIND, self._chance), *end]

    async def _send(self, whole: bytes, cut: int | None) -> None:
        """Send lines in chunks of random size, up to the cut."""
        reader, writer = await self._server.connect()
        head = f"POST {self._path}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nTurn-Token: {self._token}\r\n"
        writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        sent = 0
        while (rest := whole[sent:cut][: self._chance.randrange(1, 40)]) != b"":
            writer.write(b"%x\r\n%s\r\n" % (len(rest), rest))
            sent += len(rest)
            if self._chance.random() < 0.5:
                await writer.drain()
        if cut is None:
            writer.write(b"0\r\n\r\n")
            await reader.read()
        else:
            self.cuts += 1
            if self._chance.random() < 0.5:
                writer.transport.abort()
        writer.close()


async def _follow(server: Server, reader: Reader, chance: random.Random) -> None:
    """Read on and leave again, until the turn is over."""
    while not reader.is_done:
        await reader.read(server.client, len(reader.events) + chance.choice((1, 1, 2, 5)))


async def _scene(server: Server, seed: int) -> int:
    """Play one turn before a reader, then before a late one; return how often its loop was cut."""
    chance = random.Random(seed)
    path = await server.conversation(title="Kept")
    begun = (await server.client.post(f"{path}/turns", json={"content": QUESTION})).json()
    loop, early, late = Loop(server, path, begun, chance), Reader(path), Reader(path)
    async with asyncio.timeout(PATIENCE * 4):
        await asyncio.gather(loop.run(), _follow(server, early, random.Random(seed)))
        await late.read(server.client)
    messages = (await server.client.get(path)).json()["messages"]
    assert [message["content"] for message in messages] == [QUESTION, BEFORE, "4", BEHIND], f"seed {seed}"
    assert {message["status"] for message in messages} == {"complete"}
    assert [part["text"] for part in messages[1]["parts"]] == [THOUGHT]
    for reader in (early, late):
        reader.check()
    assert early.told() == late.told()
    return loop.cuts


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_stream_that_is_cut_anywhere_ends_as_one_that_is_not(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cuts, seeds = 0, itertools.count(20261119)
    # What a server closes because it was idle must not be used again in just that moment.
    once = httpx.Limits(max_keepalive_connections=0)
    async with (
        serving(url_of(backend, tmp_path, request), user_requests_per_second=0) as served,
        httpx.AsyncClient(base_url=served.url, timeout=PATIENCE, limits=once) as client,
    ):
        server = replace(served, client=client)
        while cuts < CUTS / 2:
            cuts += sum(await asyncio.gather(*(_scene(server, seed) for seed in itertools.islice(seeds, AT_ONCE))))
