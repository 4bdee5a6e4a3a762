"""Migrations of PostgreSQL: applied once and in order by whoever comes, and checked by every server that opens."""

import asyncio

import pytest

from tests.postgres_server import OWNER, PostgresServer, Urls
from threadkeep.errors import StoreDenied, StoreNotMigrated, StoreTooNew, StoreTooOld
from threadkeep.runtime import migrate, open_store
from threadkeep.testing.samples import ADA, new, texts_of
from threadkeep_postgres import schema
from threadkeep_postgres.schema import migrations

NAMES = [name for _, name, _ in migrations()]


@pytest.fixture
def unmigrated(postgres_server: PostgresServer) -> Urls:
    """A database without a schema."""
    return postgres_server.fresh_database(migrated=False)


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
    assert sorted(name for names in applied for name in names) == sorted(NAMES)


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


async def test_what_a_later_release_changes_is_applied_once_and_nothing_is_lost(
    postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(postgres_database.server)
    name = await new(store, ADA, "hello")
    await store.close()
    later = (len(NAMES) + 1, "later.sql", "CREATE TABLE threadkeep.later (text text);")
    known = migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*known, later])
    with pytest.raises(StoreNotMigrated):
        await open_store(postgres_database.server)
    assert await migrate(postgres_database.owner) == ["later.sql"]
    assert await migrate(postgres_database.owner) == []
    store = await open_store(postgres_database.server)
    assert texts_of(await store.newest(ADA, name)) == ["hello"]
    await store.close()


async def test_a_database_of_a_development_version_is_neither_opened_nor_migrated(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    postgres_server.execute(
        "UPDATE threadkeep.migration SET name = '0001_tables.sql'", postgres_server.as_admin(postgres_database)
    )
    with pytest.raises(StoreTooOld):
        await open_store(postgres_database.server)
    with pytest.raises(StoreTooOld):
        await migrate(postgres_database.owner)


async def test_functions_are_made_anew_when_they_have_changed(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute("DROP FUNCTION threadkeep.newest; UPDATE threadkeep.definition SET digest = 'older'", admin)
    assert await migrate(postgres_database.owner) == []
    store = await open_store(postgres_database.server)
    assert await store.newest(ADA, await new(store, ADA, "hello"))
    await store.close()
