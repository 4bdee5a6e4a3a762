"""Lists, search and history read from a replica: nobody misses what was acknowledged, however far it is behind.

Parts of the conformance suite run on it; with `THREADKEEP_TEST_REPLICAS=1` all of it does.
"""

import asyncio
import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.backends import InDatabase
from tests.browser.server import PATIENCE
from tests.postgres_server import PostgresServer, Urls
from tests.standby import Database, replicated
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing import conformance
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new, say, texts_of
from threadkeep.testing.stores import OpenAnother
from threadkeep_postgres import replicas

PARTS = ("TestBranches", "TestDeletion", "TestListFilters", "TestPages", "TestSearch", "TestSnapshots")
globals().update(
    {
        name: part
        for name, part in vars(conformance).items()
        if name in PARTS or (name.startswith("Test") and os.environ.get("THREADKEEP_TEST_REPLICAS"))
    }
)


class Pair(NamedTuple):
    """A primary, and a standby that is read."""

    standby: Database
    server: PostgresServer

    def reads(self, urls: Urls) -> int:
        """Return how many connections of a store are open to the standby on which history was read."""
        name = urls.owner.partition("?")[0].rpartition("/")[2]
        ((count,),) = self.server.fetch(
            "SELECT count(*) FROM pg_stat_activity "
            f"WHERE datname = '{name}' AND query LIKE '%threadkeep.newest(%' AND pid <> pg_backend_pid()",
            self.standby.at(self.server.admin),
        )
        return int(count)

    def replay(self, goes_on: bool) -> None:
        """Let the standby take over what the primary writes, or only receive it."""
        self.server.execute(
            f"SELECT pg_wal_replay_{'resume' if goes_on else 'pause'}()", self.standby.at(self.server.admin)
        )


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with replicated() as (_, standby, server):
        yield Pair(standby, server)


@pytest.fixture
def postgres_database(pair: Pair) -> Urls:
    """A fresh database, which is read at the standby, too."""
    made = pair.server.fresh_database()
    return Urls(made.owner, f"{made.server}?replicas=127.0.0.1:{pair.standby.port}")


@pytest.fixture
def open_another(postgres_database: Urls, clock: FakeClock, request: pytest.FixtureRequest) -> OpenAnother:
    opened = InDatabase(request)

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


async def _both(urls: Urls) -> tuple[Store, Store]:
    return await open_store(urls.server), await open_store(urls.server)


async def _sees(store: Store, name: str) -> list[str]:
    return texts_of(await store.newest(ADA, name, limit=100))


async def _reads_there(pair: Pair, urls: Urls, store: Store, name: str) -> None:
    """Read until the standby was asked."""
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(pair.reads, urls):
            await _sees(store, name)


async def test_what_was_acknowledged_is_read_at_once_by_every_instance(pair: Pair, postgres_database: Urls) -> None:
    one, other = await _both(postgres_database)
    name = await new(one, ADA, "hello")
    await _reads_there(pair, postgres_database, other, name)
    for number in range(50):
        await say(one, name, f"number {number}")
        assert (await _sees(other, name))[-1] == f"number {number}"
        assert (await _sees(one, name))[-1] == f"number {number}"
        page = await other.list(ADA)
        assert [(each.id, each.entries) for each in page.items] == [(name, number + 2)]
    assert [hit.seq for hit in (await other.search(ADA, "number 49")).items] == [51]
    await one.close()
    await other.close()


async def test_a_replica_that_stands_still_hides_nothing_and_is_asked_again_when_it_has_caught_up(
    pair: Pair, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replicas, "BEHIND_FOR", 0.05)
    monkeypatch.setattr(replicas, "AWAY_FOR", 0.05)
    one, other = await _both(postgres_database)
    name = await new(one, ADA, "hello")
    await _reads_there(pair, postgres_database, other, name)
    pair.replay(goes_on=False)
    try:
        for number in range(20):
            await say(one, name, f"number {number}")
            assert (await _sees(other, name))[-1] == f"number {number}"
            assert (await _sees(one, name))[-1] == f"number {number}"
        kept = await new(one, ADA, "another")
        assert [each.id for each in (await other.list(ADA)).items] == [kept, name]
        await one.delete(ADA, kept)
        assert [each.id for each in (await other.list(ADA)).items] == [name]
        assert "it is behind" in caplog.text
    finally:
        pair.replay(goes_on=True)
    async with asyncio.timeout(PATIENCE):
        while "is asked again" not in caplog.text:
            assert len(await _sees(other, name)) == 21
    await one.close()
    await other.close()


async def test_a_replica_that_is_frozen_killed_or_back_again_is_not_noticed(
    pair: Pair, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replicas, "AWAY_FOR", 0.2)
    # Writers do not wait for a standby that is away.
    pair.server.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
    pair.server.execute("SELECT pg_reload_conf()")
    one, other = await _both(postgres_database)
    name = await new(one, ADA, "hello")
    await _reads_there(pair, postgres_database, other, name)
    pair.standby.freeze()
    await say(one, name, "frozen")
    assert await _sees(other, name) == ["hello", "frozen"]
    pair.standby.kill()
    await say(one, name, "killed")
    assert await _sees(other, name) == ["hello", "frozen", "killed"]
    pair.standby.start()
    async with asyncio.timeout(PATIENCE):
        while "is asked again" not in caplog.text:
            assert len(await _sees(other, name)) == 3
    await one.close()
    await other.close()
