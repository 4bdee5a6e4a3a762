"""Migrations of PostgreSQL: applied once and in order by whoever comes, and checked by every server that opens."""

import asyncio
import gzip
from pathlib import Path

import pytest

from tests.postgres_server import OWNER, PostgresServer, Urls
from threadkeep.conversation.cursor import Cursor
from threadkeep.errors import StoreDenied, StoreNotMigrated, StoreTooNew
from threadkeep.runtime import migrate, open_store
from threadkeep.store.postgres.schema import migrations
from threadkeep.testing.samples import ADA, EVE, new, say, texts_of

NAMES = [name for _, name, _ in migrations()]


@pytest.fixture
def unmigrated(postgres_server: PostgresServer) -> Urls:
    """A database without a schema."""
    return postgres_server.fresh_database(migrated=False)


def test_the_numbers_of_migrations_rise() -> None:
    numbers = [number for number, _, _ in migrations()]
    assert numbers == sorted(set(numbers))


async def test_a_database_without_a_schema_is_not_opened(unmigrated: Urls) -> None:
    with pytest.raises(StoreNotMigrated):
        await open_store(unmigrated.server)


async def test_migrating_applies_everything_and_a_second_time_nothing(unmigrated: Urls) -> None:
    assert await migrate(unmigrated.owner) == NAMES
    assert await migrate(unmigrated.owner) == []
    store = await open_store(unmigrated.server)
    name = await new(store, ADA, "hello")
    assert texts_of(await store.newest(ADA, name)) == ["hello"]
    await store.close()


async def test_of_several_who_migrate_at_once_each_migration_is_applied_by_one(unmigrated: Urls) -> None:
    applied = await asyncio.gather(*(migrate(unmigrated.owner) for _ in range(5)))
    assert sorted(name for names in applied for name in names) == NAMES


async def test_a_database_of_an_older_release_must_be_migrated_first(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    postgres_server.execute(
        "DELETE FROM threadkeep.migration WHERE number = (SELECT max(number) FROM threadkeep.migration)",
        postgres_server.as_admin(postgres_database),
    )
    with pytest.raises(StoreNotMigrated):
        await open_store(postgres_database.server)


async def test_a_database_of_a_newer_release_is_neither_opened_nor_migrated(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    postgres_server.execute(
        "INSERT INTO threadkeep.migration (number, name) VALUES (9999, 'from the future')",
        postgres_server.as_admin(postgres_database),
    )
    with pytest.raises(StoreTooNew):
        await open_store(postgres_database.server)
    with pytest.raises(StoreTooNew):
        await migrate(postgres_database.owner)


async def test_the_servers_role_cannot_migrate(unmigrated: Urls) -> None:
    with pytest.raises(StoreDenied):
        await migrate(unmigrated.server)


async def test_a_role_without_a_grant_is_denied(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    postgres_server.execute("DROP ROLE IF EXISTS threadkeep_test_nobody")
    postgres_server.execute("CREATE ROLE threadkeep_test_nobody LOGIN PASSWORD 'threadkeep-test'")
    with pytest.raises(StoreDenied):
        await open_store(postgres_database.owner.replace(OWNER, "threadkeep_test_nobody"))
    postgres_server.execute("DROP ROLE threadkeep_test_nobody")


async def test_the_servers_role_owns_nothing(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    owners = postgres_server.fetch(
        "SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class "
        "WHERE relnamespace = 'threadkeep'::regnamespace UNION "
        "SELECT DISTINCT pg_get_userbyid(proowner)::text FROM pg_proc WHERE pronamespace = 'threadkeep'::regnamespace",
        postgres_server.as_admin(postgres_database),
    )
    assert owners == [(OWNER,)]


async def test_a_database_of_release_0_1_0_is_migrated_with_all_that_it_holds(
    postgres_server: PostgresServer, unmigrated: Urls
) -> None:
    dump = gzip.decompress(Path(__file__).parents[1].joinpath("data", "postgres-0.1.0.sql.gz").read_bytes())
    postgres_server.execute(dump.decode(), unmigrated.owner)
    admin = postgres_server.as_admin(unmigrated)
    postgres_server.execute("UPDATE threadkeep.conversation SET title = 'Großer Plan'", admin)
    assert await migrate(unmigrated.owner) == NAMES[1:]
    store = await open_store(unmigrated.server)
    for scope in (ADA, EVE):
        assert texts_of(await store.newest(scope, "c-ada")) == ["m0", "m1", "m2", "m3", "m4", "branch", "hello"]
        assert await store.count(scope, "c-ada") == 7
        assert await store.count(scope, "c-ada", head=40) == 40
        (turn,) = await store.turns(scope, "c-ada")
        draft = (await store.log(scope, "c-ada", Cursor(seq=43))).draft
        assert draft is not None
        assert (draft.turn, draft.text) == (turn.number, "half an ans")
        assert len((await store.search(scope, "branch")).items) == 1
        assert [hit.title for hit in (await store.search(scope, "grosser plan")).items] == ["Großer Plan"]
        await say(store, "c-ada", "one more", scope=scope)
        assert await store.count(scope, "c-ada") == 8
    await store.close()


async def test_functions_are_made_anew_when_they_have_changed(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute("DROP FUNCTION threadkeep.ping; UPDATE threadkeep.definition SET digest = 'older'", admin)
    assert await migrate(postgres_database.owner) == []
    store = await open_store(postgres_database.server)
    await store.ping()
    await store.close()
