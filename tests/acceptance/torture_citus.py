"""Tenants write without a pause while a Citus changes under them: `python -m tests.acceptance.torture_citus --seed 7`.

A third worker is added and shards move to it, a worker and the coordinator are killed and come back, a worker is
replaced by its standby, the schema of a later release is migrated to, and a tenant to which new people come all the
time is widened. Each writer sends a message again, with its key, until it is acknowledged. At the end each must be
where it was said to be, once, and nothing else may be there.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar
from urllib.parse import urlsplit

from tests.citus_cluster import CitusServer, Node, nodes
from tests.postgres_server import Urls
from threadkeep.cli.main import main
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.errors import StoreError
from threadkeep.runtime import migrate, open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import asked, texts_of
from threadkeep.testing.stores import whole_log
from threadkeep_postgres import schema
from threadkeep_postgres.cells import KNOWN_FOR, OPENS_AFTER
from threadkeep_postgres.store import PostgresStore

T = TypeVar("T")
TENANTS = 8
SHARDS = 8
WIDENED, CELLS = "tenant-0", 4
LATER = """
CREATE TABLE threadkeep.later (tenant integer, text text, PRIMARY KEY (tenant, text));
ALTER TABLE threadkeep.conversation ADD COLUMN noted boolean NOT NULL DEFAULT false;
CREATE INDEX conversation_noted ON threadkeep.conversation (tenant, owner) WHERE noted;
"""
"""What a later release might change."""
QUIET_FOR = 3.0
"""Seconds of writing before and after each event."""
AWAY_FOR = 2.0
AGAIN_AFTER = 0.05


class Writer:
    """A person, who writes one message after the other."""

    def __init__(self, store: Store, scope: Scope, conversation: str) -> None:
        self._store = store
        self.scope = scope
        self.conversation = conversation
        self.acked: dict[str, int] = {}
        self.refused = 0
        self.longest = 0.0
        self._acked = asyncio.Event()

    async def write(self, is_over: asyncio.Event) -> None:
        """Write until it is over; what was begun is brought to its end."""
        await self.begin()
        while not is_over.is_set():
            await self.say()

    async def begin(self) -> None:
        """Make the conversation."""
        made, key = NewConversation(id=self.conversation), IdempotencyKey.of("new", self.conversation, None)
        await self._until_acked(lambda: self._store.create(self.scope, made, key=key))

    async def say(self) -> None:
        """Write one message."""
        text = f"{self.conversation} {len(self.acked)}"
        append = Append(bodies=(asked(text),), key=IdempotencyKey.of("x", text, None))
        began = time.monotonic()
        told = await self._until_acked(lambda: self._store.append(self.scope, self.conversation, append))
        self.acked[text] = told.entries[0].seq
        self._acked.set()
        self.longest = max(self.longest, time.monotonic() - began)

    async def goes_on(self, after: int) -> None:
        """Wait until more than so many are acknowledged."""
        while len(self.acked) <= after:
            self._acked.clear()
            await self._acked.wait()

    async def _until_acked(self, act: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await act()
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


class Newcomers:
    """People who come to one tenant, one after the other, each with a message."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store, self._tenant = store, tenant
        self.people: list[Writer] = []

    async def come(self, is_over: asyncio.Event) -> None:
        """Let people come until it is over."""
        while not is_over.is_set():
            name = f"newcomer-{len(self.people)}"
            person = Writer(self._store, Scope(tenant=self._tenant, user=name), name)
            await person.begin()
            await person.say()
            self.people.append(person)
            await asyncio.sleep(AGAIN_AFTER)

    async def check(self, store: Store) -> list[str]:
        """Return what is not as it was acknowledged, in the lists of the tenant, too."""
        broken = [each for person in self.people for each in await person.check(store)]
        listed, after = list[str](), None
        while True:
            page = await store.list(self._tenant, limit=100, after=after)
            listed += [each.id for each in page.items if each.id.startswith("newcomer")]
            if (after := page.next) is None:
                break
        if sorted(listed) != sorted(person.conversation for person in self.people):
            broken.append(f"{len(self.people)} people came, {len(listed)} conversations are listed")
        assert isinstance(store, PostgresStore)
        lived_in = [await store._db.scope(person.scope) for person in self.people]
        counts = Counter(keys[0] for keys in lived_in if keys)
        print(f"{len(self.people):,} people came to {self._tenant}, and live in cells of {sorted(counts.values())}")
        return broken if len(counts) == CELLS else [*broken, f"people live in {len(counts)} cells"]


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
        """Migrate to a later release: a table, a column and an index more, and all functions anew."""
        self._ask("UPDATE threadkeep.definition SET digest = 'older'")
        known = schema.migrations()
        schema.migrations = lambda: [*known, (len(known) + 1, "later.sql", LATER)]
        asyncio.run(migrate(self._urls.owner))

    def widen_a_tenant(self) -> None:
        """Give a tenant more cells, and wait until they are open."""
        code = main(["cells", WIDENED, str(CELLS), "--store", self._urls.server])
        assert code == 0, "the tenant could not be widened"
        time.sleep(OPENS_AFTER.total_seconds() + KNOWN_FOR)


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
        broken = await _play(urls.server, [cluster.widen_a_tenant, *events, cluster.replace_a_worker])
    print("\n".join(broken[:20]) or "0 lost, 0 doubled")
    return bool(broken)


async def _play(url: str, events: list[Callable[[], None]]) -> list[str]:
    """Let all tenants write while one event follows the other; return what is broken at the end."""
    store, is_over = await open_store(url), asyncio.Event()
    ada = [Scope(tenant=f"tenant-{number}", user="ada") for number in range(TENANTS)]
    writers = [Writer(store, scope, f"conversation-{number}") for number, scope in enumerate(ada)]
    newcomers = Newcomers(store, WIDENED)
    writing = [
        asyncio.create_task(each) for each in (*(writer.write(is_over) for writer in writers), newcomers.come(is_over))
    ]
    print(f"{'event':24}{'took s':>8}{'longest write s':>17}{'acknowledged':>14}{'refused':>9}", flush=True)
    for event in [lambda: None, *events]:
        await _happen(event, writers)
    is_over.set()
    await asyncio.gather(*writing)
    await store.close()
    fresh = await open_store(url)
    checks = [*(writer.check(fresh) for writer in writers), newcomers.check(fresh)]
    broken = [each for check in checks for each in await check]
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
