"""Tenants write without a pause while a Citus changes under them: `python -m tests.acceptance.torture_citus --seed 7`.

A third worker is added and shards move to it, a worker and the coordinator are killed and come back, a worker is
replaced by its standby, and the schema is migrated. Each writer sends a message again, with its key, until it is
acknowledged. At the end each must be where it was said to be, once, and nothing else may be there.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from random import Random
from urllib.parse import urlsplit

from tests.citus_cluster import CitusServer, Node, nodes
from tests.postgres_server import Urls
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.errors import StoreError
from threadkeep.runtime import migrate, open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import asked, new, texts_of
from threadkeep.testing.stores import whole_log

TENANTS = 8
SHARDS = 8
QUIET_FOR = 3.0
"""Seconds of writing before and after each event."""
AWAY_FOR = 2.0
AGAIN_AFTER = 0.05


class Writer:
    """One tenant's person, who writes one message after the other."""

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self.scope = Scope(tenant=f"tenant-{number}", user="ada")
        self.conversation = f"conversation-{number}"
        self.acked: dict[str, int] = {}
        self.refused = 0
        self.longest = 0.0
        self._acked = asyncio.Event()

    async def write(self, is_over: asyncio.Event) -> None:
        """Write until it is over; what was begun is brought to its end."""
        await new(self._store, self.scope, name=self.conversation)
        while not is_over.is_set():
            text = f"{self.conversation} {len(self.acked)}"
            began = time.monotonic()
            self.acked[text] = await self._send(Append(bodies=(asked(text),), key=IdempotencyKey.of("x", text, None)))
            self._acked.set()
            self.longest = max(self.longest, time.monotonic() - began)

    async def goes_on(self, after: int) -> None:
        """Wait until more than so many are acknowledged."""
        while len(self.acked) <= after:
            self._acked.clear()
            await self._acked.wait()

    async def _send(self, append: Append) -> int:
        while True:
            try:
                return (await self._store.append(self.scope, self.conversation, append)).entries[0].seq
            except StoreError:
                self.refused += 1
                await asyncio.sleep(AGAIN_AFTER)

    async def check(self, store: Store) -> list[str]:
        """Return what is not as it was acknowledged."""
        entries, _ = await whole_log(store, self.scope, self.conversation)
        stored = texts_of(entries)
        places = {entry.seq: text for entry, text in zip(entries, stored, strict=True)}
        broken = [f"{text} is not at {seq}" for text, seq in self.acked.items() if places.get(seq) != text]
        if len(stored) != len(self.acked):
            broken.append(f"{self.conversation}: {len(self.acked)} acknowledged, {len(stored)} stored")
        found = await store.search(self.scope, f"{len(self.acked) - 1}", conversation=self.conversation)
        return broken if found.items else [*broken, f"{self.conversation}: the newest message is not found"]


class Cluster:
    """The machines, and what happens to them."""

    def __init__(self, machines: list[Node], server: CitusServer, urls: Urls) -> None:
        self.coordinator, self.first, self.second, self.third, self.standby = machines
        self._server, self._urls = server, urls

    def _ask(self, sql: str) -> None:
        self._server.execute(sql, self._server.as_admin(self._urls))

    def add_a_worker(self) -> None:
        """Let a third worker take its share of the shards."""
        self._server.prepare(self.third.url, self._urls)
        self._ask(f"SELECT citus_add_node('127.0.0.1', {self.third.port})")
        self._ask("SELECT rebalance_table_shards(shard_transfer_mode := 'force_logical')")

    def kill_a_worker(self) -> None:
        """End a worker as a power cut would; it comes back."""
        self.second.kill()
        time.sleep(AWAY_FOR)
        self.second.start()

    def kill_the_coordinator(self) -> None:
        """End the coordinator; it comes back."""
        self.coordinator.kill()
        time.sleep(AWAY_FOR)
        self.coordinator.start()

    def replace_a_worker(self) -> None:
        """Kill a worker for good and let its synchronous standby take its place, and its address."""
        self.first.kill()
        self.standby.promote()
        self.standby.kill()
        self.standby.port = self.first.port
        self.standby.start()

    def migrate(self) -> None:
        """Make all functions anew, as a new release does."""
        self._ask("UPDATE threadkeep.definition SET digest = 'older'")
        asyncio.run(migrate(self._urls.owner))


async def _main(seed: int) -> int:
    with nodes(5) as machines:
        machines[4].follow(machines[1])
        server = CitusServer(machines[0].url, [machine.url for machine in machines[1:3]])
        urls = server.empty_database()
        for machine in server.machines:
            name = urlsplit(urls.owner).path[1:]
            server.execute(f"ALTER DATABASE {name} SET citus.shard_count = {SHARDS}", machine)
        server.join(urls)
        await migrate(urls.owner)
        cluster = Cluster(machines, server, urls)
        events = [cluster.add_a_worker, cluster.kill_a_worker, cluster.kill_the_coordinator, cluster.migrate]
        Random(seed).shuffle(events)
        broken = await _play(urls.server, [*events, cluster.replace_a_worker])
    print("\n".join(broken[:20]) or "0 lost, 0 doubled")
    return bool(broken)


async def _play(url: str, events: list[Callable[[], None]]) -> list[str]:
    """Let all tenants write while one event follows the other; return what is broken at the end."""
    store, is_over = await open_store(url), asyncio.Event()
    writers = [Writer(store, number) for number in range(TENANTS)]
    writing = [asyncio.create_task(writer.write(is_over)) for writer in writers]
    print(f"{'event':24}{'took s':>8}{'longest write s':>17}{'acknowledged':>14}{'refused':>9}", flush=True)
    for event in [lambda: None, *events]:
        await _happen(event, writers)
    is_over.set()
    await asyncio.gather(*writing)
    await store.close()
    fresh = await open_store(url)
    broken = [each for writer in writers for each in await writer.check(fresh)]
    await fresh.close()
    return broken


async def _happen(event: Callable[[], None], writers: list[Writer]) -> None:
    for writer in writers:
        writer.longest, writer.refused = 0.0, 0
    before = sum(len(writer.acked) for writer in writers)
    await asyncio.sleep(QUIET_FOR)
    began = time.monotonic()
    await asyncio.to_thread(event)
    took = time.monotonic() - began
    await asyncio.sleep(QUIET_FOR)
    known = {writer.conversation: len(writer.acked) for writer in writers}
    for writer in writers:
        await writer.goes_on(known[writer.conversation])
    name = getattr(event, "__name__", "nothing").strip("<>").replace("lambda", "nothing").replace("_", " ")
    longest, refused = max(writer.longest for writer in writers), sum(writer.refused for writer in writers)
    acked = sum(len(writer.acked) for writer in writers) - before
    print(f"{name:24}{took:8.1f}{longest:17.1f}{acked:14,}{refused:9,}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    sys.exit(asyncio.run(_main(parser.parse_args().seed)))
