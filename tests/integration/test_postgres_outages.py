"""A PostgreSQL that falls silent, is cut off, restarts or may only be read, as those who call see it."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio

from tests.database_proxy import DatabaseProxy, before
from tests.postgres_server import PostgresServer, Urls
from threadkeep.errors import StoreReadOnly, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, MINUTE, answered, asked, key, new, running, say, settle, texts_of
from threadkeep.testing.stores import whole_log
from threadkeep_postgres import address, pool
from threadkeep_postgres import store as stores

PATIENCE = 20


@pytest_asyncio.fixture
async def proxy(postgres_database: Urls) -> AsyncIterator[DatabaseProxy]:
    async with before(postgres_database.server) as proxy:
        yield proxy


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long in these tests."""
    monkeypatch.setattr(pool, "CALL_SECONDS", 1.5)
    monkeypatch.setattr(pool, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(stores, "PING_SECONDS", 0.5)
    monkeypatch.setattr(address, "CONNECT_SECONDS", 2.0)


async def _all(count: int, work: Callable[[], Awaitable[object]]) -> list[object]:
    """Do so many at once, and return what each has come to."""
    return await asyncio.gather(*(work() for _ in range(count)), return_exceptions=True)


async def _connect(store: Store, name: str, count: int) -> None:
    """Make so many connections."""
    await _all(count, lambda: store.get(ADA, name))


@pytest.mark.usefixtures("impatient")
async def test_who_calls_a_silent_server_is_told_so_and_the_same_store_works_when_it_speaks(
    proxy: DatabaseProxy,
) -> None:
    store = await open_store(proxy.url(options="?pool_size=4"))
    name = await new(store, ADA, "hello")
    await _connect(store, name, 4)
    proxy.fall_silent()
    async with asyncio.timeout(PATIENCE):
        # Many more than there are connections: whoever waits for one is told as well.
        told = await _all(100, lambda: store.get(ADA, name))
        assert {type(error) for error in told} == {StoreUnavailable}
        for attempt in (
            store.operations.ping,
            lambda: say(store, name, "lost"),
            lambda: store.operations.expired(MINUTE),
        ):
            with pytest.raises(StoreUnavailable):
                await attempt()
    proxy.speak()
    await say(store, name, "again", "and again")
    assert texts_of(await store.newest(ADA, name))[-2:] == ["again", "and again"]
    await store.close()


@pytest.mark.usefixtures("impatient")
async def test_a_store_on_a_silent_server_is_closed_soon(proxy: DatabaseProxy) -> None:
    store = await open_store(proxy.url())
    name = await new(store, ADA, "hello")
    await _connect(store, name, 20)
    proxy.fall_silent()
    calls = [asyncio.create_task(store.get(ADA, name)) for _ in range(30)]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await store.close()
        told = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(error) for error in told} == {StoreUnavailable}


async def test_calls_take_seconds_at_most_by_default() -> None:
    assert pool.CALL_SECONDS <= 5
    assert address.CONNECT_SECONDS <= 5
    assert stores.PING_SECONDS <= 2
    assert pool.CLOSE_SECONDS <= 2


async def test_a_process_that_was_frozen_still_hears_the_answer(
    proxy: DatabaseProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(proxy.url())
    name = await new(store, ADA, "hello")
    proxy.fall_silent()
    reading = asyncio.create_task(store.get(ADA, name))
    await asyncio.sleep(0)
    (link,) = store._pool._busy  # type: ignore[attr-defined]
    looks = link.looks_left
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: time.monotonic() + 600)
    monkeypatch.setattr(pool, "monotonic", lambda: time.monotonic() + 600)
    async with asyncio.timeout(PATIENCE):
        while link.looks_left == looks:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.01)
    proxy.speak()
    assert (await reading).id == name
    await store.close()


@pytest.mark.usefixtures("impatient")
async def test_what_takes_long_by_nature_is_not_cut(
    postgres_server: PostgresServer, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres_server.execute(
        "CREATE FUNCTION threadkeep.holding() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(3)'",
        postgres_server.as_admin(postgres_database),
    )
    store = await open_store(postgres_database.server)
    await store._pool.call("holding")  # type: ignore[attr-defined]
    await store.close()


async def test_after_connections_were_cut_no_call_fails(proxy: DatabaseProxy) -> None:
    store = await open_store(proxy.url())
    name = await new(store, ADA, "hello")
    for _ in range(3):
        await _connect(store, name, 32)
        proxy.cut()
        told = await _all(60, lambda: store.get(ADA, name))
        assert {getattr(conversation, "id", conversation) for conversation in told} == {name}
    await store.close()


async def test_after_a_restart_of_the_server_no_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    with PostgresServer.start(durable=False) as server:
        store = await open_store(server.fresh_database().server)
        name = await new(store, ADA, "hello")
        await _connect(store, name, 32)
        server.stop()
        server.restart()
        told = await _all(30, lambda: say(store, name, "again")) + await _all(30, lambda: store.get(ADA, name))
        assert [error for error in told if isinstance(error, BaseException)] == []
        assert len(await store.newest(ADA, name, limit=100)) == 31
        await store.close()


async def test_text_of_a_turn_and_its_lease_go_on_while_connections_are_cut(proxy: DatabaseProxy) -> None:
    store = await open_store(proxy.url())
    name = await new(store)
    lease = await running(store, name)
    words = [f"word{number} " for number in range(200)]
    proxy.cut_often(every=61)
    for at, word in enumerate(words):
        await store.write(lease, "m1", len("".join(words[:at])), word)
        await store.extend(lease, MINUTE)
    assert proxy.cuts > 5
    _, draft = await whole_log(store, ADA, name)
    assert draft is not None
    assert draft.text == "".join(words)
    await settle(store, lease, answered("".join(words)).model_copy(update={"id": "m1"}))
    assert await store.turns(ADA, name) == ()
    await store.close()


@pytest.mark.parametrize("every", [53, 61])
async def test_what_is_written_while_connections_are_cut_is_stored_once(proxy: DatabaseProxy, every: int) -> None:
    store = await open_store(proxy.url())
    proxy.cut_often(every=every)
    for number in range(40):
        name = await new(store)
        await store.append(ADA, name, Append(bodies=(asked("asked"),), key=key(f"append {number}")))
        await say(store, name, "without", "a key")
        lease = await running(store, name)
        await settle(store, lease, answered("settled"))
        said = texts_of(await store.newest(ADA, name))
        assert said == ["asked", "without", "a key", "hello", "settled"]
    assert proxy.cuts > 5
    assert len((await store.list(ADA, limit=100)).items) == 40
    await store.close()


@pytest.mark.usefixtures("impatient")
async def test_a_first_host_that_is_silent_does_not_block_the_second(
    proxy: DatabaseProxy, postgres_database: Urls
) -> None:
    async with before(postgres_database.server) as second:
        proxy.fall_silent()
        store = await open_store(proxy.url(second.port))
        name = await new(store, ADA, "hello")
        await _connect(store, name, 32)
        # Who was reached once is asked first.
        assert proxy.taken <= 3
        assert second.taken >= 30
        second.fall_silent()
        proxy.speak()
        with pytest.raises(StoreUnavailable):
            await say(store, name, "lost")
        await say(store, name, "again")
        await store.close()


async def test_of_several_hosts_the_one_that_can_be_written_is_used(
    postgres_server: PostgresServer, proxy: DatabaseProxy, postgres_database: Urls
) -> None:
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    with PostgresServer.start(durable=False) as standby:
        urls = standby.fresh_database()
        name = urls.owner.partition("?")[0].rpartition("/")[2]
        standby.execute(f"ALTER DATABASE {name} RENAME TO {database}")
        standby.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        async with before(urls.server.replace(name, database)) as first:
            store = await open_store(first.url(proxy.port))
            conversation = await new(store, ADA, "hello")
            assert texts_of(await store.newest(ADA, conversation)) == ["hello"]
            # The other one becomes the first.
            postgres_server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
            standby.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
            proxy.cut()
            await new(store, ADA, "there")
            assert first.taken > 1
            await store.close()
            with pytest.raises(StoreUnavailable, match="read-write"):
                await open_store(proxy.url(proxy.port))


async def test_a_session_that_turns_read_only_is_dropped(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    store = await open_store(postgres_database.server)
    name = await new(store, ADA, "hello")
    postgres_server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    postgres_server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
    with pytest.raises(StoreReadOnly):
        await say(store, name, "lost")
    postgres_server.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    await say(store, name, "again")
    assert texts_of(await store.newest(ADA, name)) == ["hello", "again"]
    await store.close()


@pytest.mark.parametrize(
    ("refuse", "allow"),
    [
        ("ALTER ROLE {role} NOLOGIN", "ALTER ROLE {role} LOGIN"),
        ("ALTER DATABASE {database} ALLOW_CONNECTIONS false", "ALTER DATABASE {database} ALLOW_CONNECTIONS true"),
        ("REVOKE CONNECT ON DATABASE {database} FROM PUBLIC", "GRANT CONNECT ON DATABASE {database} TO PUBLIC"),
        ("ALTER DATABASE {database} RENAME TO {database}_away", "ALTER DATABASE {database}_away RENAME TO {database}"),
    ],
    ids=["login", "database", "right", "name"],
)
async def test_a_login_that_is_refused_is_an_outage(
    postgres_server: PostgresServer, postgres_database: Urls, refuse: str, allow: str
) -> None:
    role, database = (urlsplit(postgres_database.server).username, urlsplit(postgres_database.server).path[1:])
    store = await open_store(postgres_database.server)
    name = await new(store, ADA, "hello")
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    # Nobody may rename a database while somebody is connected.
    for statement in (cut, refuse.format(role=role, database=database), cut):
        postgres_server.execute(statement)
    try:
        for attempt in (store.operations.ping, lambda: say(store, name, "lost")):
            with pytest.raises(StoreUnavailable):
                await attempt()
    finally:
        postgres_server.execute(allow.format(role=role, database=database))
    await say(store, name, "again")
    assert texts_of(await store.newest(ADA, name)) == ["hello", "again"]
    await store.close()


async def test_a_table_that_somebody_locks_is_an_outage(
    postgres_server: PostgresServer, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(address._SETTINGS, "lock_timeout", "50ms")
    monkeypatch.setattr(pool, "CALL_SECONDS", 1.0)
    store = await open_store(postgres_database.server)
    name = await new(store, ADA, "hello")
    locking = await asyncpg.connect(postgres_server.as_admin(postgres_database))
    for lock in ("EXCLUSIVE", "ACCESS EXCLUSIVE"):
        async with locking.transaction():
            await locking.execute(f"LOCK TABLE threadkeep.entry, threadkeep.conversation IN {lock} MODE")
            for attempt in (lambda: say(store, name, "lost"), lambda: new(store, ADA, "lost")):
                with pytest.raises(StoreUnavailable):
                    await attempt()
    await locking.close()
    await say(store, name, "again")
    assert texts_of(await store.newest(ADA, name)) == ["hello", "again"]
    await store.close()


async def test_the_system_watches_over_every_connection(proxy: DatabaseProxy) -> None:
    connection = await address.Address(proxy.url()).connect()
    peer = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]
    assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert 0 < peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 10_000
    await connection.close()
