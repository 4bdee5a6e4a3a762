"""The PostgreSQL store behind a real PgBouncer in transaction mode: the same promises, and nothing set for others."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from tests.backends import InDatabase
from tests.pgbouncer import direct, pooled, programs, through
from tests.postgres_server import PostgresServer, Urls
from tests.unit.turn.processes import until
from threadkeep.errors import StoreUnavailable
from threadkeep.runtime import migrate, open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.drafts import TestDrafts
from threadkeep.testing.conformance.idempotency import TestIdempotency
from threadkeep.testing.conformance.keyring import TestKeyRing
from threadkeep.testing.conformance.leases import TestLeases
from threadkeep.testing.conformance.turns import TestTurns
from threadkeep.testing.samples import ADA, new, say, texts_of
from threadkeep.testing.stores import OpenAnother

__all__ = ["TestDrafts", "TestIdempotency", "TestKeyRing", "TestLeases", "TestTurns"]


@pytest.fixture(scope="module", params=programs())
def program(request: pytest.FixtureRequest) -> str:
    """Each PgBouncer that there is, in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer, program: str) -> Iterator[int]:
    """The port of a PgBouncer."""
    with pooled(postgres_server.fresh_database().server, program) as port:
        yield port


@pytest.fixture
def behind(pooler: int, postgres_database: Urls) -> str:
    """The URL of an empty database through it."""
    return through(postgres_database.server, pooler)


@pytest.fixture
def open_another(behind: str, program: str, clock: FakeClock, request: pytest.FixtureRequest) -> OpenAnother:
    opened = InDatabase(request)
    opened.url = f"{behind}?prepared_statements={'on' if program == 'new' else 'off'}"

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


async def test_without_any_option_it_is_found_out_whether_prepared_statements_hold(
    behind: str, program: str, caplog: pytest.LogCaptureFixture
) -> None:
    stores = [await open_store(behind) for _ in range(2)]
    names = [await new(store, ADA, "hello") for store in stores]
    await asyncio.gather(*(say(store, name, "again") for store in stores for name in names for _ in range(20)))
    for store in stores:
        for name in names:
            assert texts_of(await store.newest(ADA, name, limit=50)) == ["hello"] + ["again"] * 40
        await store.close()
    assert ("prepared_statements=off" in caplog.text) == (program == "old")


async def test_no_connection_is_left_with_a_setting_after_notifications_were_sent(behind: str) -> None:
    store = await open_store(behind)
    await new(store, ADA, "hello")
    channels = [store.operations.notify_channel() for _ in range(3)]
    for channel in channels:
        assert channel is not None
        await channel.open(lambda _: None)
        await channel.send(["something", "happened"])
    asking = [await asyncpg.connect(behind, statement_cache_size=0) for _ in range(3)]
    # In transactions at the same time they must be on different connections of the pooler: on all that it has.
    for connection in asking:
        await connection.execute("BEGIN")
    seen = {
        (await connection.fetchval("SELECT pg_backend_pid()"), await connection.fetchval("SHOW synchronous_commit"))
        for connection in asking
    }
    assert len({process for process, _ in seen}) == 3
    assert {setting for _, setting in seen} == {"on"}
    for connection in asking:
        await connection.close()
    for channel in channels:
        assert channel is not None
        await channel.close()
    await store.close()


async def test_a_database_that_acknowledges_before_it_stores_is_refused_where_we_cannot_tell_it_to_wait(
    behind: str, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    postgres_server.execute(f"ALTER DATABASE {database} SET synchronous_commit = off")
    store = await open_store(postgres_database.server)
    await store.close()
    with pytest.raises(StoreUnavailable, match="synchronous_commit"):
        await open_store(behind)


async def test_notifications_and_migrations_go_past_the_pooler_where_the_url_says_how(
    behind: str, pooler: int, postgres_database: Urls
) -> None:
    past = direct(postgres_database.server)
    url = f"{behind}?{past}"
    store = await open_store(url)
    hearing, sending = store.operations.notify_channel(), store.operations.notify_channel()
    assert hearing is not None
    assert sending is not None
    heard: list[str] = []
    await hearing.open(heard.append)
    await sending.open(lambda _: None)
    await sending.send(["one"])
    await until(lambda: heard == ["one"])
    await hearing.close()
    await sending.close()
    await store.close()
    assert await migrate(f"{through(postgres_database.owner, pooler)}?{past}") == []
