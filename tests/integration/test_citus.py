"""A real Citus, a coordinator and two workers: migrating alone distributes what users run, promises hold, and no verb
of a tenant looks at more than one shard. The whole suites run on it with `make citus`."""

import logging
from collections.abc import Iterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.backends import InDatabase
from tests.citus_cluster import KNOWN_ROLES, SPANNING, CitusServer
from tests.postgres_server import SERVER, Urls, _at
from threadkeep.errors import StoreDenied
from threadkeep.runtime import migrate, open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, new, texts_of
from threadkeep.testing.stores import OpenAnother
from threadkeep_postgres import schema
from threadkeep_postgres.citus.distribution import STEPS
from threadkeep_postgres.schema import migrations

NAMES = [name for _, name, _ in migrations()]
DISTRIBUTED_TABLES = "SELECT c.relname::text FROM citus_tables t JOIN pg_class c ON c.oid = t.table_name"


@pytest.fixture(scope="module")
def postgres_server(citus_server: CitusServer) -> CitusServer:
    """Every database of this module is on several machines."""
    return citus_server


@pytest.fixture
def open_another(clock: FakeClock, request: pytest.FixtureRequest) -> OpenAnother:
    opened = InDatabase(request)

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


@pytest.fixture
def empty(citus_server: CitusServer) -> Iterator[Urls]:
    """A database on each machine that knows nothing of the others."""
    urls = citus_server.empty_database()
    yield urls
    citus_server.drop(urls)


@pytest.fixture
def joined(empty: Urls, citus_server: CitusServer) -> Urls:
    """A database without a schema, whose machines know each other."""
    citus_server.join(empty)
    return empty


async def test_migrating_distributes_by_itself_and_a_second_time_does_nothing(joined: Urls) -> None:
    assert await migrate(joined.owner) == [*NAMES, *STEPS]
    assert await migrate(joined.owner) == []


async def test_what_a_later_release_brings_is_distributed_too(
    joined: Urls, citus_server: CitusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations()
    monkeypatch.setattr(schema, "migrations", lambda: known[:-1])
    await migrate(joined.owner)
    sql = (
        "CREATE TABLE threadkeep.later (tenant integer, text text, PRIMARY KEY (tenant, text));"
        "ALTER TABLE threadkeep.conversation ADD COLUMN noted boolean NOT NULL DEFAULT false;"
    )
    monkeypatch.setattr(schema, "migrations", lambda: [*known, (len(known) + 1, "notes.sql", sql)])
    assert await migrate(joined.owner) == [NAMES[-1], "notes.sql", *STEPS]
    assert ("later",) in citus_server.fetch(DISTRIBUTED_TABLES, citus_server.as_admin(joined))
    store = await open_store(joined.server)
    assert texts_of(await store.newest(ADA, await new(store, ADA, "hello"))) == ["hello"]
    await store.close()


async def test_what_one_machine_holds_goes_where_it_belongs_and_does_not_stay_behind(
    empty: Urls, citus_server: CitusServer
) -> None:
    assert await migrate(empty.owner) == NAMES
    store = await open_store(empty.server)
    names = {scope: await new(store, scope, "hello", "there") for scope in (ADA, BOB, EVE)}
    await store.close()
    citus_server.join(empty)
    assert await migrate(empty.owner) == [*STEPS]
    store = await open_store(empty.server)
    for scope, name in names.items():
        assert texts_of(await store.newest(scope, name)) == ["hello", "there"]
        assert len((await store.search(scope, "there")).items) == 1
    await store.close()
    left = "SELECT pg_relation_size('threadkeep.entry') + pg_relation_size('threadkeep.conversation')"
    assert citus_server.fetch(left, citus_server.as_admin(empty)) == [(0,)]


async def test_what_is_not_as_it_should_be_is_said_when_a_server_opens_the_store(
    empty: Urls, citus_server: CitusServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def said() -> str:
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            await (await open_store(empty.server)).close()
        return caplog.text

    await migrate(empty.owner)
    assert await said() == ""
    citus_server.execute("CREATE EXTENSION citus", citus_server.as_admin(empty))
    assert "Citus knows no workers" in await said()
    citus_server.execute("DROP EXTENSION citus", citus_server.as_admin(empty))
    citus_server.join(empty)
    assert "are not distributed by tenant" in await said()
    await migrate(empty.owner)
    assert await said() == ""
    citus_server.execute("UPDATE pg_dist_node SET isactive = false WHERE groupid > 0", citus_server.as_admin(empty))
    assert f":{urlsplit(citus_server.workers[0]).port} is not active in Citus" in await said()


async def test_where_citus_may_not_make_the_roles_migrating_says_who_can(
    empty: Urls, citus_server: CitusServer
) -> None:
    citus_server.join(empty, roles=())
    with pytest.raises(StoreDenied, match=r"howto/scale\.md"):
        await migrate(empty.owner)
    for statement in KNOWN_ROLES:
        citus_server.execute(statement, citus_server.as_admin(empty))
    assert await migrate(empty.owner) == [*NAMES, *STEPS]


async def test_a_tenant_sees_only_itself_on_the_machines_that_hold_it(
    postgres_database: Urls, citus_server: CitusServer
) -> None:
    store = await open_store(postgres_database.server)
    for scope in (ADA, EVE):
        await new(store, scope, "hello")
    await store.close()
    seen = set()
    for machine in citus_server.workers:
        connection = await asyncpg.connect(_at(machine, urlsplit(postgres_database.owner).path[1:], SERVER))
        await connection.execute("SET citus.override_table_visibility = off")
        shards = await connection.fetch(
            r"SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^(entry|person)_\d+$'"
        )
        for (shard,) in shards:
            assert await connection.fetchval(f"SELECT count(*) FROM {shard}") == 0
            for tenant in (1, 2):
                async with connection.transaction():
                    await connection.execute(f"SET LOCAL threadkeep.tenant = '{tenant}'")
                    rows = await connection.fetch(f"SELECT DISTINCT tenant FROM {shard}")
                assert [row["tenant"] for row in rows] in ([], [tenant])
                seen |= {(shard.partition("_")[0], tenant) for _ in rows}
        await connection.close()
    assert len(seen) == 4


async def test_it_is_noticed_where_all_shards_are_looked_at(postgres_database: Urls, citus_server: CitusServer) -> None:
    store = await open_store(postgres_database.server)
    await new(store, ADA, "hello")
    assert citus_server.shards.spanned == set()
    await store.operations.expired(MINUTE)
    assert citus_server.shards.spanned == SPANNING
    await store.close()
