"""Many messages, each sent one to five times at once over three instances behind a proxy that cuts connections: every
one is there once: `python -m tests.acceptance.retries --count 100000 --seed 7`.

It goes in rounds, each of which is held against the log before the next begins. Whoever is answered at all is told the
same turn. Ends with an error if a message is lost or doubled.
"""

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.instances import LATER, RoundRobin
from tests.acceptance.torture import place_of
from tests.browser.server import Server
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange
from threadkeep.runtime import open_store
from threadkeep.testing.stores import whole_log

INSTANCES = 3
AT_ONCE = 5
CUT = 0.1
"""How many of the messages have some connection cut."""
WRITERS = 48
IN_ROUND = 2_400
"""How many messages are sent before the log is looked at: each writer begins a conversation in each round."""
ENDED_WITHIN = 300.0


class Retries:
    """Writers, what each has sent to its conversation, and how often that was asked for and cut off."""

    def __init__(self, client: httpx.AsyncClient, proxy: RoundRobin, seed: int) -> None:
        self._client = client
        self._proxy = proxy
        self._chance = random.Random(seed)
        self.sent: dict[str, list[str]] = {}
        self.requests = self.replayed = 0

    async def write(self, count: int) -> None:
        """Begin a conversation and send so many messages to it, one after the other."""
        begun = await self._post("/v1/conversations", {}, f"begin {self._chance.random()}")
        id = begun[0]["id"]
        assert {each["id"] for each in begun} == {id}, "one request began several conversations"
        self.sent[id] = []
        for number in range(count):
            content = f"Thanks, number {number}."  # the demo answers in three words
            answers = await self._post(f"/v1/conversations/{id}/messages", {"content": content}, content)
            assert len({answer["turn"]["id"] for answer in answers}) == 1, f"{content} of {id} has several turns"
            self.sent[id].append(content)

    async def _post(self, path: str, body: dict[str, str], key: str) -> list[dict[str, Any]]:
        """Send something at once up to five times until an instance has answered; return all answers."""
        while True:
            if self._chance.random() < CUT:
                self._proxy.cut_after.append(self._chance.randint(1, 2000))
            times = self._chance.randint(1, AT_ONCE)
            answers = await asyncio.gather(*(self._once(path, body, key) for _ in range(times)))
            if taken := [answer for answer in answers if answer is not None]:
                return taken

    async def _once(self, path: str, body: dict[str, str], key: str) -> dict[str, Any] | None:
        headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
        self.requests += 1
        with suppress(httpx.TransportError):
            answer = await self._client.post(path, json=body, headers=headers)
            if answer.status_code not in LATER:
                self.replayed += "idempotency-replayed" in answer.raise_for_status().headers
                return dict(answer.json())
        return None

    async def check(self, url: str) -> None:
        """Hold what was sent against the log, once every turn has ended."""
        store = await open_store(url)
        try:
            for id, sent in self.sent.items():
                async with asyncio.timeout(ENDED_WITHIN):
                    while await store.turns(LOCAL, id):  # noqa: ASYNC110 - what is looked at is no event
                        await asyncio.sleep(0.05)
                entries, _ = await whole_log(store, LOCAL, id)
                bodies = [entry.body for entry in entries]
                asked = [each.content for each in bodies if isinstance(each, Message) and each.role is Role.USER]
                ended = [each for each in bodies if isinstance(each, TurnChange) and not each.state.is_open]
                assert asked == sent, f"{id}: a message is lost, doubled or out of order"
                assert len(ended) == len(sent), f"{id}: {len(ended)} turns for {len(sent)} messages"
        finally:
            await store.close()
        self.sent.clear()


async def _campaign(store: str, folder: Path, count: int, seed: int) -> None:
    url = f"{store}{'&' if '?' in store else '?'}pool_size=10"
    servers = [Server(folder / str(number), "--store", url) for number in range(INSTANCES)]
    began = time.monotonic()
    try:
        for server in servers:
            server.folder.mkdir()
            await asyncio.to_thread(server.start)
        proxy = RoundRobin(servers)
        listening = await asyncio.start_server(proxy.begin, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        limits = httpx.Limits(max_connections=WRITERS * AT_ONCE)
        async with listening, httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
            retries, done = Retries(client, proxy, seed), 0
            while done < count:
                share = -(-min(IN_ROUND, count - done) // WRITERS)
                async with asyncio.TaskGroup() as writing:
                    for _ in range(WRITERS):
                        writing.create_task(retries.write(share))
                await retries.check(store)
                done += share * WRITERS
                told = f"{retries.requests} requests, {retries.replayed} replayed, {proxy.cuts} connections cut"
                print(f"{done} messages, {told}, {time.monotonic() - began:.0f} s: each there once", flush=True)
            await proxy.close()
    finally:
        for server in servers:
            await asyncio.to_thread(server.kill)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with place_of("postgresql") as url, tempfile.TemporaryDirectory(prefix="threadkeep-retries-") as folder:
        asyncio.run(_campaign(url, Path(folder), chosen.count, chosen.seed))


if __name__ == "__main__":
    main()
