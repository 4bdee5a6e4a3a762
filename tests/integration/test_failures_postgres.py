"""When PostgreSQL fails: gone, cut off, read-only, full, not ours, not migrated, newer. One error each."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt, StoreDenied, StoreNotMigrated, StoreReadOnly, StoreTooNew, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.unreached import ENOUGH
from threadkeep.store.values import Append
from threadkeep.testing.samples import MINUTE, asked, key, new, say, texts_of
from threadkeep.testing.stores import everything, whole_log


def _name(urls: Urls) -> str:
    return urlsplit(urls.owner).path[1:]


def _cut_connections(server: PostgresServer, urls: Urls) -> None:
    """End every connection to the database but the one that asks."""
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_name(urls)}'")


async def test_a_database_without_our_schema_is_not_migrated(postgres_server: PostgresServer) -> None:
    urls = postgres_server.fresh_database(migrated=False)
    for url in urls:
        with pytest.raises(StoreNotMigrated):
            await open_store(url)


async def test_a_database_of_a_newer_release_is_refused_and_left_as_it_is(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute("INSERT INTO threadkeep.migration (number, name) VALUES (9999, 'newer')", admin)
    with pytest.raises(StoreTooNew):
        await open_store(postgres_database.server)
    postgres_server.execute("DELETE FROM threadkeep.migration WHERE number = 9999", admin)
    store = await open_store(postgres_database.server)
    await new(store, LOCAL, "hello")
    await store.close()


async def test_a_role_without_rights_is_denied(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    postgres_server.execute(
        "DO $$ BEGIN IF to_regrole('threadkeep_test_stranger') IS NULL THEN "
        "CREATE ROLE threadkeep_test_stranger LOGIN PASSWORD 'threadkeep-test'; END IF; END $$"
    )
    stranger = postgres_database.server.replace("threadkeep_test_server", "threadkeep_test_stranger")
    with pytest.raises(StoreDenied):
        await open_store(stranger)


async def test_a_role_that_does_not_exist_is_denied(postgres_database: Urls) -> None:
    with pytest.raises(StoreDenied):
        await open_store(postgres_database.server.replace("threadkeep_test_server", "threadkeep_test_nobody"))


async def test_a_database_that_does_not_exist_is_unavailable(postgres_database: Urls) -> None:
    with pytest.raises(StoreUnavailable):
        await open_store(postgres_database.server.replace(_name(postgres_database), "threadkeep_test_missing"))


async def test_a_server_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        await open_store("postgresql://nobody@127.0.0.1:1/threadkeep")


async def test_a_read_only_database_is_named_and_can_be_written_again_later(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    name = await new(store, LOCAL, "hello")
    before = await everything(store, LOCAL)
    database = _name(postgres_database)
    postgres_server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    _cut_connections(postgres_server, postgres_database)
    await store.get(LOCAL, name)
    for write in (lambda: say(store, name, "x", scope=LOCAL), lambda: new(store, LOCAL), store.operations.ping):
        with pytest.raises(StoreReadOnly):
            await write()
    assert await everything(store, LOCAL) == before
    postgres_server.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    _cut_connections(postgres_server, postgres_database)
    await say(store, name, "again", scope=LOCAL)
    assert texts_of(await store.newest(LOCAL, name)) == ["hello", "again"]
    await store.close()


async def test_appends_while_connections_are_cut_are_stored_once_when_they_are_retried(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    names = [await new(store, LOCAL) for _ in range(4)]
    writing = True

    async def write(name: str) -> int:
        number = 0
        while writing or number < 20:
            append = Append(bodies=(asked(f"{name} {number}"),), key=key(f"{name} {number}"))
            with suppress(StoreUnavailable):
                await store.append(LOCAL, name, append)
                number += 1
        return number

    tasks = [asyncio.create_task(write(name)) for name in names]
    for _ in range(10):
        await asyncio.to_thread(_cut_connections, postgres_server, postgres_database)
    writing = False
    for name, count in zip(names, await asyncio.gather(*tasks), strict=True):
        entries, _ = await whole_log(store, LOCAL, name)
        assert texts_of(entries) == [f"{name} {number}" for number in range(count)]
        assert [entry.seq for entry in entries] == list(range(1, count + 1))
    await store.close()


async def _fails_everywhere(store: Store, name: str) -> None:
    attempts: list[Callable[[], Awaitable[object]]] = [
        store.operations.ping,
        lambda: store.get(LOCAL, name),
        lambda: store.list(LOCAL),
        lambda: say(store, name, "lost", scope=LOCAL),
        lambda: store.create(LOCAL, NewConversation()),
        lambda: store.search(LOCAL, "hello"),
        lambda: store.operations.expired(MINUTE),
    ]
    for attempt in attempts:
        with pytest.raises(StoreUnavailable):
            await attempt()


async def test_a_server_that_was_stopped_is_unavailable_and_the_same_handle_works_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    with PostgresServer.start() as server:
        store = await open_store(server.fresh_database().server)
        name = await new(store, LOCAL, "hello")
        server.stop()
        await _fails_everywhere(store, name)
        server.restart()
        await say(store, name, "again", scope=LOCAL)
        assert texts_of(await store.newest(LOCAL, name)) == ["hello", "again"]
        await store.close()


async def test_a_store_that_refuses_all_that_is_written_as_damaged_is_not_ready(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    names = [await new(store, LOCAL, "hello") for _ in range(ENOUGH)]
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute(
        "CREATE FUNCTION threadkeep.fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE data_corrupted; END';"
        "CREATE TRIGGER damaged BEFORE INSERT ON threadkeep.entry EXECUTE FUNCTION threadkeep.fail()",
        admin,
    )
    for name in names:
        await store.operations.ping()
        with pytest.raises(StoreCorrupt):
            await say(store, name, "lost", scope=LOCAL)
    with pytest.raises(StoreCorrupt):
        await store.operations.ping()
    postgres_server.execute("DROP TRIGGER damaged ON threadkeep.entry", admin)
    await say(store, names[0], "again", scope=LOCAL)
    await store.operations.ping()
    await store.close()


async def test_a_damaged_row_is_reported_and_the_others_are_readable(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    name = await new(store, LOCAL, "question", "answer")
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute(r"UPDATE threadkeep.entry SET content = '\x01deadbeef' WHERE seq = 2", admin)
    assert texts_of((await store.entry(LOCAL, name, 1),)) == ["question"]
    with pytest.raises(StoreCorrupt):
        await store.entry(LOCAL, name, 2)
    await new(store, LOCAL, "unharmed")
    await store.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk for PostgreSQL alone can be mounted by root only")
@pytest.mark.parametrize("scenario", ["refused", "spooled"])
def test_a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room(scenario: str) -> None:
    command = ["unshare", "--mount", sys.executable, "-m", "tests.integration.full_postgres", scenario]
    environment = {name: value for name, value in os.environ.items() if name != "THREADKEEP_TEST_POSTGRES"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], env=environment
    )
    assert done.returncode == 0, done.stderr
