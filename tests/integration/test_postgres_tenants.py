"""The second wall between tenants: what the server's role can see and do in the database itself."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from tests.postgres_server import SERVER, PostgresServer, Urls
from threadkeep.conversation.conversation import NewConversation
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, EVE, key, new, running, say

CONTENT = ("person", "conversation", "entry", "jump", "chunk", "key")

Connection = Any


@pytest_asyncio.fixture
async def stored(postgres_database: Urls) -> Urls:
    """A database in which two tenants have stored something of every kind."""
    store = await open_store(postgres_database.server)
    for scope in (ADA, EVE):
        name = await new(store, scope, "one", "two")
        await say(store, name, "beside", scope=scope, parent=1)
        await store.create(scope, NewConversation(), key=key("k"))
        await store.write(await running(store, name, scope=scope), "m1", 0, "text")
        await store.search(scope, "two")
    await store.close()
    return postgres_database


@pytest_asyncio.fixture
async def as_server(stored: Urls) -> AsyncIterator[Connection]:
    """A connection of the server's role."""
    connection = await asyncpg.connect(stored.server)
    yield connection
    await connection.close()


async def _count(connection: Connection, table: str) -> int:
    return int(await connection.fetchval(f"SELECT count(*) FROM threadkeep.{table}"))


@pytest.mark.parametrize("table", CONTENT)
async def test_without_a_tenant_every_table_with_content_is_empty(as_server: Connection, table: str) -> None:
    assert await _count(as_server, table) == 0
    await as_server.execute("SELECT set_config('threadkeep.tenant', '', false)")
    assert await _count(as_server, table) == 0


@pytest.mark.parametrize("table", CONTENT)
async def test_a_tenant_sees_its_own_rows_and_no_others(as_server: Connection, table: str) -> None:
    keys = [row["key"] for row in await as_server.fetch("SELECT key FROM threadkeep.tenant")]
    assert len(keys) == 2
    for tenant in keys:
        await as_server.execute("SELECT set_config('threadkeep.tenant', $1::integer::text, false)", tenant)
        seen = await as_server.fetch(f"SELECT DISTINCT tenant FROM threadkeep.{table}")
        assert [row["tenant"] for row in seen] == [tenant]


async def test_nothing_can_be_written_for_another_tenant(as_server: Connection) -> None:
    await as_server.execute("SELECT set_config('threadkeep.tenant', '1', false)")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await as_server.execute(
            "INSERT INTO threadkeep.entry (created_at, total, conversation, tenant, seq, parent, kind) "
            "VALUES (now(), 0, 1, 2, 99, 0, 0)"
        )


async def test_the_servers_role_cannot_change_an_entry(as_server: Connection) -> None:
    await as_server.execute("SELECT set_config('threadkeep.tenant', '1', false)")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await as_server.execute("UPDATE threadkeep.entry SET content = NULL")


async def test_the_servers_role_cannot_read_the_words_of_messages(as_server: Connection) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await _count(as_server, "word")


async def test_candidates_of_another_tenant_are_not_found(as_server: Connection) -> None:
    find = "SELECT count(*) FROM threadkeep.candidates($1, $2, NULL, ''':two''', '-infinity', 'infinity', NULL, 100)"
    people = []
    for tenant in (1, 2):
        await as_server.execute("SELECT set_config('threadkeep.tenant', $1::integer::text, false)", tenant)
        people.append(await as_server.fetchval("SELECT key FROM threadkeep.person"))
    assert await as_server.fetchval(find, 2, people[1]) == 1
    assert await as_server.fetchval(find, 1, people[0]) == 0
    assert await as_server.fetchval(find, 2, people[0]) == 0


async def test_the_owner_is_under_the_same_rule(stored: Urls) -> None:
    connection = await asyncpg.connect(stored.owner)
    assert await _count(connection, "entry") == 0
    await connection.close()


async def test_others_can_call_nothing(postgres_server: PostgresServer, stored: Urls) -> None:
    postgres_server.execute("DROP ROLE IF EXISTS threadkeep_test_stranger")
    postgres_server.execute("CREATE ROLE threadkeep_test_stranger NOLOGIN")
    calls = postgres_server.fetch(
        "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'threadkeep'::regnamespace "
        "AND has_function_privilege('threadkeep_test_stranger', p.oid, 'EXECUTE')",
        postgres_server.as_admin(stored),
    )
    postgres_server.execute("DROP ROLE threadkeep_test_stranger")
    assert calls == []


async def test_every_table_with_a_tenant_begins_its_keys_with_it(postgres_server: PostgresServer, stored: Urls) -> None:
    keys = postgres_server.fetch(
        "SELECT i.indrelid::regclass::text, a.attname::text FROM pg_index i "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'threadkeep'::regnamespace "
        "WHERE i.indisprimary AND EXISTS (SELECT FROM pg_attribute t WHERE t.attrelid = i.indrelid "
        "AND t.attname = 'tenant' AND t.atttypid = 'integer'::regtype)",
        postgres_server.as_admin(stored),
    )
    assert len(keys) >= 9
    assert {column for _, column in keys} == {"tenant"}


async def test_a_role_that_could_get_around_the_wall_is_told_of(
    postgres_server: PostgresServer, postgres_database: Urls, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await (await open_store(postgres_database.server)).close()
        assert SERVER not in caplog.text
        for url in (postgres_database.owner, postgres_server.as_admin(postgres_database)):
            caplog.clear()
            await (await open_store(url)).close()
            assert "row-level security" in caplog.text


async def test_every_key_of_a_table_contains_the_tenant(stored: Urls) -> None:
    """So that the same schema can be distributed by tenant. What is looked up before a tenant is known is exempt."""
    connection = await asyncpg.connect(stored.owner)
    keys = await connection.fetch(
        "SELECT c.relname AS table, i.relname AS key, array_agg(a.attname::text) AS columns FROM pg_index x "
        "JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (x.indkey) "
        "WHERE c.relnamespace = 'threadkeep'::regnamespace AND x.indisunique GROUP BY 1, 2"
    )
    foreign = await connection.fetchval(
        "SELECT array_agg(conname::text) FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = 'threadkeep'::regnamespace"
    )
    await connection.close()
    without = {row["table"] for row in keys if "tenant" not in row["columns"]}
    assert without == {"tenant", "migration", "api_key", "login", "key_act"}
    assert {"entry", "conversation", "person", "turn", "chunk", "key", "jump"} <= {row["table"] for row in keys}
    assert foreign == ["login_key_fkey"]
