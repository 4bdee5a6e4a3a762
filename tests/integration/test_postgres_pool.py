"""Connections to PostgreSQL: few for many callers, given back whatever happens, cut when they do not answer."""

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep.errors import InvalidStoreUrl, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, new, say, texts_of
from threadkeep_postgres import pool as pools
from threadkeep_postgres.address import Address
from threadkeep_postgres.pool import Pool


def _sized(urls: Urls, size: int) -> str:
    return f"{urls.server}{'&' if '?' in urls.server else '?'}pool_size={size}"


async def test_many_callers_share_few_connections(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    store = await open_store(_sized(postgres_database, 2))
    names = [await new(store) for _ in range(10)]
    await asyncio.gather(*(say(store, name, "hello") for name in names * 3))
    (connected,) = postgres_server.fetch(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'threadkeep' AND datname = current_database()",
        postgres_server.as_admin(postgres_database),
    )
    assert connected == (2,)
    for name in names:
        assert texts_of(await store.newest(ADA, name)) == ["hello"] * 3
    await store.close()


async def test_a_caller_who_gives_up_holds_no_connection(postgres_database: Urls) -> None:
    store = await open_store(_sized(postgres_database, 1))
    name = await new(store)
    for _ in range(20):
        callers = [asyncio.create_task(store.get(ADA, name)) for _ in range(3)]
        await asyncio.sleep(0)
        for caller in callers[:2]:
            caller.cancel()
        await asyncio.wait(callers)
        assert callers[2].result().id == name
    await store.close()


async def test_a_server_without_room_for_more_serves_all_on_what_there_is(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    store = await open_store(postgres_database.server)
    name = await new(store)
    postgres_server.execute(f"ALTER DATABASE {database} CONNECTION LIMIT 1")
    found = await asyncio.gather(*(store.get(ADA, name) for _ in range(20)))
    assert {conversation.id for conversation in found} == {name}
    await store.close()


async def test_who_was_refused_a_connection_takes_the_one_that_was_given_back_meanwhile(
    postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(postgres_database.server)
    name = await new(store)
    given_back = asyncio.Event()

    async def refuse(address: Address) -> None:
        await given_back.wait()
        raise StoreUnavailable from asyncpg.TooManyConnectionsError("there is no room for more")

    monkeypatch.setattr(Address, "connect", refuse)
    first, second = (asyncio.create_task(store.get(ADA, name)) for _ in range(2))
    await first
    given_back.set()
    async with asyncio.timeout(30):
        assert (await second).id == name
    await store.close()


async def test_a_call_that_is_not_answered_is_cut_and_the_next_one_works(
    postgres_server: PostgresServer, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "CALL_SECONDS", 0.2)
    store = await open_store(_sized(postgres_database, 1))
    name = await new(store, ADA, "one")
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute(
        "CREATE FUNCTION threadkeep.sleep_long() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(3600)'", admin
    )
    pool: Pool = store._pool  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable):
        await pool.call("sleep_long")
    await say(store, name, "two")
    assert texts_of(await store.newest(ADA, name)) == ["one", "two"]
    await store.close()


async def test_a_connection_that_is_cut_between_two_steps_of_preparing_is_replaced(
    postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(postgres_database.server)
    name = await new(store, ADA, "one")
    real, met = asyncpg.Connection._introspect_types, list[str]()  # type: ignore[attr-defined]

    async def cut(connection: Any, *arguments: Any) -> Any:
        if not met:
            met.append("a cut")
            connection.terminate()
        return await real(connection, *arguments)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", cut)
    assert (await store.snapshot(ADA, name)).conversation.id == name
    assert met == ["a cut"]
    await store.close()


async def test_closing_waits_for_what_is_being_answered_and_refuses_what_comes_later(postgres_database: Urls) -> None:
    store = await open_store(_sized(postgres_database, 2))
    name = await new(store)
    saying = [asyncio.create_task(say(store, name, f"{number}")) for number in range(2)]
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert all(len(entries) == 1 for entries in await asyncio.gather(*saying))
    with pytest.raises(StoreUnavailable):
        await store.get(ADA, name)


@pytest.mark.parametrize("option", ["pool_size=none", "sslmode=sometimes"])
async def test_a_url_with_an_option_that_is_none_is_refused(postgres_database: Urls, option: str) -> None:
    with pytest.raises(InvalidStoreUrl):
        await open_store(f"{postgres_database.server}{'&' if '?' in postgres_database.server else '?'}{option}")


async def test_what_types_there_are_is_asked_by_one_connection_for_all(
    postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[frozenset[int]] = []
    original: Any = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]

    async def spy(connection: Any, types: Any, timeout: float) -> Any:
        asked.append(frozenset(types))
        return await original(connection, types, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", spy)
    address = Address(postgres_database.server)
    for _ in range(3):
        connection = await address.connect()
        statement = await connection.prepare("SELECT $1::threadkeep.line[]")
        line = (None, 1, *[None] * 8)
        assert await statement.fetchval([line]) == [line]
        await connection.close()
    assert len(asked) == 1
