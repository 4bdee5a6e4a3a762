"""What follows the log in PostgreSQL: words and activity lag behind, and yet every search and every list is exact."""

import asyncio
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest
import pytest_asyncio

from tests.postgres_server import PostgresServer, Urls
from tests.unit.store.test_paging import check_short_pages
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, answered, asked, new, running, say, settle
from threadkeep_postgres import search as index
from threadkeep_postgres import store as postgres_store


@pytest_asyncio.fixture
async def store(postgres_database: Urls, clock: FakeClock) -> AsyncIterator[Store]:
    """A store of a fresh database."""
    opened = await open_store(postgres_database.server, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def behind(postgres_server: PostgresServer, postgres_database: Urls) -> "Behind":
    """Looks how many conversations are behind."""
    return Behind(postgres_server, postgres_server.as_admin(postgres_database))


class Behind:
    """Counts what is not indexed yet."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self._server = server
        self._url = url

    def __call__(self) -> int:
        return int(self._server.fetch("SELECT count(*) FROM threadkeep.behind", self._url)[0][0])


async def _eventually(is_so: Callable[[], bool]) -> None:
    """Wait until something can be seen in the database, looking from another thread."""
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(is_so):
            pass


async def test_a_search_of_one_user_leaves_the_others_behind(store: Store, behind: Behind) -> None:
    for scope in (ADA, BOB, EVE):
        await new(store, scope, "needle")
    assert behind() == 3
    assert len((await store.search(ADA, "needle")).items) == 1
    assert behind() == 2


async def test_what_nobody_searches_is_indexed_in_a_pause(
    store: Store, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "PAUSE_SECONDS", 0.01)
    for scope in (ADA, BOB, EVE):
        await new(store, scope, "needle")
    await _eventually(lambda: behind() == 0)


async def test_what_one_store_left_is_indexed_by_another(
    store: Store, behind: Behind, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(store, ADA, "needle")
    await store.close()
    assert behind() == 1
    monkeypatch.setattr(index, "PAUSE_SECONDS", 0.01)
    other = await open_store(postgres_database.server)
    await new(other, BOB, "another")
    await _eventually(lambda: behind() == 0)
    await other.close()


async def test_much_is_indexed_although_there_is_no_pause(
    store: Store, postgres_database: Urls, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(index, "BACKLOG", 20)
    await new(store, BOB, "needle")
    name = await new(store)

    async def talk() -> None:
        while True:
            await say(store, name, "more")

    talking = asyncio.create_task(talk())
    await _eventually(lambda: behind() <= 1)
    talking.cancel()
    await asyncio.wait([talking])


async def test_a_list_is_exact_while_conversations_are_behind(store: Store, clock: FakeClock) -> None:
    names = []
    for _ in range(6):
        names.append(await new(store, ADA, "hello"))
        clock.advance(1)
    await store.search(ADA, "hello")
    for at in (3, 1):
        await say(store, names[at], "again")
        clock.advance(1)
    expected = [names[at] for at in (1, 3, 5, 4, 2, 0)]
    assert [item.id for item in (await store.list(ADA)).items] == expected
    seen, after = [], None
    while True:
        page = await store.list(ADA, limit=1, after=after)
        seen += [item.id for item in page.items]
        after = page.next
        if after is None:
            break
    assert seen == expected


async def test_nothing_is_lost_or_indexed_twice_while_many_append_and_search(
    store: Store, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    other = await open_store(postgres_database.server)
    names = [await new(store, scope) for scope in (ADA, ADA, BOB)]

    async def talk(handle: Store, at: int) -> None:
        scope = BOB if at == 2 else ADA
        for number in range(25):
            await say(handle, names[at], f"word{number}", scope=scope)
            if number % 5 == 0:
                found = await handle.search(scope, f"word{number} ", conversation=names[at])
                assert found.items

    await asyncio.gather(*(talk(handle, at) for handle in (store, other) for at in range(3)))
    for scope in (ADA, BOB):
        await store.search(scope, "word1")
    rows = postgres_server.fetch(
        "SELECT count(*), count(DISTINCT (conversation, seq)) FROM threadkeep.word",
        postgres_server.as_admin(postgres_database),
    )
    assert rows == [(150, 150)]
    await other.close()


async def test_who_appends_does_not_wait_for_words_that_are_being_indexed(
    store: Store, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    name = await new(store, ADA, "hello")
    behind = "SELECT tenant, owner, conversation FROM threadkeep.behind"
    ((tenant, owner, key),) = postgres_server.fetch(behind, postgres_server.as_admin(postgres_database))
    indexing = await asyncpg.connect(postgres_database.server)
    async with indexing.transaction():
        words: tuple[object, ...] = (tenant, [owner], [key], [1], [key], [1], ["hello"], [], 1)
        await indexing.execute("SELECT threadkeep.catch_up($1, $2, $3, $4, $5, $6, $7, $8, $9)", *words)
        await say(store, name, "more")
    await indexing.close()
    assert len((await store.search(ADA, "hello ")).items) == 1
    assert len((await store.search(ADA, "more ")).items) == 1


async def test_a_search_uses_the_index(store: Store, postgres_server: PostgresServer, postgres_database: Urls) -> None:
    name = await new(store)
    for start in range(0, 300, 100):
        await say(store, name, *(f"number{number} common" for number in range(start, start + 100)))
    await store.search(ADA, "common")
    await store.related(ADA, name, [["number7"]], head=299)
    await store.close()
    admin = postgres_server.as_admin(postgres_database)

    def scans() -> tuple[int, int]:
        (row,) = postgres_server.fetch(
            "SELECT t.seq_scan, i.idx_scan FROM pg_stat_user_tables t "
            "JOIN pg_stat_user_indexes i ON i.relid = t.relid WHERE i.indexrelname = 'word_by_words'",
            admin,
        )
        return int(row[0]), int(row[1])

    await _eventually(lambda: scans()[1] >= 2)
    assert scans()[0] == 0


async def test_what_a_hundred_people_say_stands_apart_in_the_index(
    store: Store, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    admin = postgres_server.as_admin(postgres_database)
    people = {number: Scope(tenant="acme", user=f"number{number}") for number in (1, 99, 100, 12345)}
    for number, scope in people.items():
        postgres_server.execute(f"SELECT setval('threadkeep.person_key', {number}, false)", admin)
        name = await new(store, scope, "a needle in the hay")
        for sought in ("needle ", "need", "hay -straw"):
            assert [hit.conversation for hit in (await store.search(scope, sought)).items] == [name]
        assert [each.score for each in await store.related(scope, name, [["hay", "straw"]], head=1)]
    ((expression,),) = postgres_server.fetch(
        "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index WHERE indexrelid = 'threadkeep.word_by_words'::regclass",
        admin,
    )
    keys = f"SELECT DISTINCT unnest(tsvector_to_array({expression})) AS key FROM threadkeep.word"
    found = {key for (key,) in postgres_server.fetch(keys, admin) if key.endswith("needle")}
    assert found == {":needle", "1:needle", "123:needle"}


async def test_more_words_than_postgresql_takes_are_indexed_as_far_as_it_goes(store: Store) -> None:
    # Each of these signs becomes eighteen letters, so a hundred thousand of them make more than a megabyte of words.
    name = await new(store)
    text = "first " + " ".join(f"\ufdfa{number}" for number in range(25_000))
    await store.append(ADA, name, Append(bodies=(asked(text),)))
    await say(store, name, "after")
    assert [hit.seq for hit in (await store.search(ADA, "after ")).items] == [2]


async def test_an_entry_that_is_damaged_hides_no_others(
    store: Store, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    name = await new(store, ADA, "damaged needle", "whole needle")
    postgres_server.execute(
        r"UPDATE threadkeep.entry SET content = '\x01deadbeef' WHERE seq = 1",
        postgres_server.as_admin(postgres_database),
    )
    assert [hit.seq for hit in (await store.search(ADA, "needle")).items] == [2]
    assert (await store.entry(ADA, name, 2)).seq == 2


async def test_large_messages_are_indexed_a_few_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_BYTES", 1000)
    monkeypatch.setattr(index, "MOST_ENTRIES", 3)
    name = await new(store)
    large = Message(role=Role.USER, content="needle " + "x" * 5000)
    for _ in range(4):
        await store.append(ADA, name, Append(bodies=(large, asked("needle small"))))
    assert len((await store.search(ADA, "needle", limit=100)).items) == 8


async def test_a_filter_of_a_list_looks_at_so_many_for_a_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "LOOKED_AT", 4)
    await check_short_pages(store)


async def test_only_messages_have_a_row_in_the_index_of_words(
    store: Store, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    name = await new(store, ADA)
    await settle(store, await running(store, name), answered("good day"))
    assert len((await store.search(ADA, "good")).items) == 1
    url = postgres_server.as_admin(postgres_database)
    assert postgres_server.fetch("SELECT count(*) FROM threadkeep.word", url) == [(2,)]
