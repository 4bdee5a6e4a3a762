"""Milestones in PostgreSQL: where they are set, that counting relies on them, databases that have none or too few."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.entry import Summary
from threadkeep.runtime import migrate, open_store
from threadkeep.store.base import Append, Store
from threadkeep.testing.samples import ADA, EVE, NO_TIME, new, say

ALL = "SELECT tenant, conversation, seq, messages FROM threadkeep.milestone ORDER BY 1, 2, 3"


class Inside:
    """The rows of a database, as its administrator sees them."""

    def __init__(self, server: PostgresServer, urls: Urls) -> None:
        self._server, self._url = server, server.as_admin(urls)

    def milestones(self) -> list[tuple[Any, ...]]:
        return self._server.fetch(ALL, self._url)

    def execute(self, sql: str) -> None:
        self._server.execute(sql, self._url)


@pytest.fixture
def inside(postgres_server: PostgresServer, postgres_database: Urls) -> Inside:
    return Inside(postgres_server, postgres_database)


@pytest_asyncio.fixture
async def store(postgres_database: Urls) -> AsyncIterator[Store]:
    store = await open_store(postgres_database.server)
    yield store
    await store.close()


async def test_a_log_has_a_milestone_at_every_256th_entry_however_it_is_written(store: Store, inside: Inside) -> None:
    name = await new(store, ADA, *["x"] * 253)
    await store.append(ADA, name, Append(bodies=(Summary(content="remark"),)))
    await say(store, name, "255")
    assert inside.milestones() == []
    await say(store, name, "256", "257")
    assert inside.milestones() == [(1, 1, 256, 255)]
    await say(store, name, *["x"] * 254)
    await say(store, name, "512")
    await say(store, name, *["x"] * 600)
    assert inside.milestones() == [(1, 1, 256, 255), (1, 1, 512, 511), (1, 1, 768, 767), (1, 1, 1024, 1023)]


async def test_what_lies_between_milestones_is_not_read(store: Store, inside: Inside) -> None:
    name = await new(store, ADA, *["x"] * 1000)
    inside.execute("DELETE FROM threadkeep.entry WHERE seq BETWEEN 300 AND 700")
    assert await store.count(ADA, name) == 1000
    assert await store.count(ADA, name, after=280) == 720


async def test_missing_milestones_make_no_difference_and_the_next_one_is_right(store: Store, inside: Inside) -> None:
    name = await new(store, ADA, *["x"] * 1000)
    inside.execute("DELETE FROM threadkeep.milestone WHERE seq > 256")
    assert await store.count(ADA, name) == 1000
    await say(store, name, *["x"] * 100)
    assert await store.count(ADA, name) == 1100
    assert inside.milestones() == [(1, 1, 256, 256), (1, 1, 1024, 1024)]


async def test_a_database_of_an_older_release_gets_its_milestones_when_it_is_migrated(
    store: Store, inside: Inside, postgres_database: Urls
) -> None:
    names = [(scope, await new(store, scope, *["x"] * 200)) for scope in (ADA, ADA, EVE)]
    for scope, name in names:
        await store.append(scope, name, Append(bodies=(Summary(content="remark"),) * 30))
        await say(store, name, *["x"] * 500, scope=scope, parent=7)
    await new(store, EVE, "too short for one")
    await new(store, EVE, *["x"] * 512)
    expected = inside.milestones()
    inside.execute(
        "DROP FUNCTION threadkeep.count, threadkeep.messages_up_to, threadkeep.messages_between, threadkeep.moment"
    )
    inside.execute("DROP TABLE threadkeep.milestone")
    inside.execute("DELETE FROM threadkeep.migration WHERE number >= 14")
    assert await migrate(postgres_database.owner) == ["0014_milestones.sql", "0015_time.sql"]
    assert inside.milestones() == expected
    assert len(expected) == 8
    assert [await store.count(*name) for name in names] == [507] * 3


async def test_milestones_are_purged_with_their_conversation(store: Store, inside: Inside) -> None:
    name = await new(store, ADA, *["x"] * 600)
    await store.delete(ADA, name)
    assert len(inside.milestones()) == 2
    await store.purge(NO_TIME)
    assert inside.milestones() == []
