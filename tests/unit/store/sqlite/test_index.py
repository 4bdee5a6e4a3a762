"""Lists, searches and counts are exact while the index lags behind, and wait for nobody who writes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.paging import Listed
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import ListFilter
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, new, say, texts_of
from threadkeep.text.words import marks, words


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    """A store whose index never follows by itself, with another process that holds the write lock for ever."""
    monkeypatch.setattr(index, "IDLE_SECONDS", 3600.0)
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    for name in ("first", "second", "third"):
        clock.advance(1)
        await new(store, ADA, f"{name} otters", name=name)
    await store.maintenance.catch_up()
    clock.advance(1)
    await say(store, "first", "late otters and seals")
    clock.advance(1)
    await new(store, BOB, "the otters of another user")
    holder = apsw.Connection(str(tmp_path / "t.db"))
    holder.execute("BEGIN IMMEDIATE")
    yield store
    holder.execute("ROLLBACK")
    holder.close()
    await store.close()


async def test_a_list_shows_the_newest_activity_first_page_by_page(store: SqliteStore) -> None:
    async with asyncio.timeout(5):
        whole = await store.list(ADA)
        first = await store.list(ADA, limit=1)
        rest = await store.list(ADA, limit=2, after=first.next)
        tenant = await store.list(ADA.tenant)
    assert [found.id for found in whole.items] == ["first", "third", "second"]
    assert (*first.items, *rest.items) == whole.items
    assert rest.next is None
    assert [found.scope for found in tenant.items] == [BOB, ADA, ADA, ADA]


async def test_a_search_finds_what_is_not_indexed_yet(store: SqliteStore) -> None:
    async with asyncio.timeout(5):
        assert len((await store.search(ADA, "otters")).items) == 4
        assert [hit.seq for hit in (await store.search(ADA, "seal")).items] == [2]
        assert (await store.search(ADA, "another")).items == ()
        assert len((await store.search(ADA, "otters", conversation="first")).items) == 2
        related = await store.related(ADA, "first", [["otters"]], head=9)
        assert texts_of(tuple(entry for entry, _ in related)) == ["late otters and seals", "first otters"]


async def test_what_is_stored_is_counted_at_once(store: SqliteStore) -> None:
    async with asyncio.timeout(5):
        found = await store.operations.statistics(ADA.tenant, user=ADA.user)
    assert (found.conversations, found.entries) == (3, 4)
    assert found.bytes == len("first otterssecond ottersthird otterslate otters and seals")


TEXTS = (
    "It's 3,000_otters, e-mail: OTTER@example.org\0after zero\x7f\tTab",
    "dashes — and “marks” ¤u2 ¤c7 … and a picture 🦦 of one",
    "Crème brûlée in München, ﬁne Straße",
    "x" * 64 + " " + "y" * 65 + " " + "Z" * 200,
    "水獺 and otters",
)


@pytest.mark.parametrize("text", TEXTS)
async def test_the_index_holds_exactly_the_words_of_a_message_until_it_is_purged(
    tmp_path: Path, clock: FakeClock, text: str
) -> None:
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    await new(store, ADA, text, name="first")
    await new(store, ADA, "otter", name="second")
    await store.maintenance.catch_up()
    db = store.writer.connection
    db.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab (main, word, row)")
    of_both = {"¤u1", *marks("", clock())}
    of_first, of_second = {"¤c1", *words(text), *marks(text, clock()), *of_both}, {"¤c2", "otter", *of_both}
    assert {term for (term,) in db.rows("SELECT term FROM held")} == of_first | of_second
    await store.delete(ADA, "first")
    clock.advance(60)
    await store.operations.purge(timedelta(seconds=1))
    assert {term for (term,) in db.rows("SELECT term FROM held")} == of_second
    db.execute("INSERT INTO word (word) VALUES ('integrity-check')")
    await store.close()


async def test_a_page_of_a_list_is_read_without_the_many_that_lag_behind_it(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "IDLE_SECONDS", 3600.0)
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    names = [f"c{number}" for number in range(40)]
    for name in names:
        clock.advance(1)
        await new(store, ADA, "otters", name=name)
    await store.maintenance.catch_up()
    for name in names[::2]:
        clock.advance(1)
        await say(store, name, "seals")
    read: list[object] = []
    listed = index._listed

    def count(*row: Any) -> Listed:
        read.append(row)
        return listed(*row)

    monkeypatch.setattr(index, "_listed", count)
    found, after = list[str](), None
    while True:
        page = await store.list(ADA, limit=3, after=after)
        found += [item.id for item in page.items]
        assert len(read) <= 2 * 4
        read.clear()
        if (after := page.next) is None:
            break
    assert found == [*reversed(names[::2]), *reversed(names[1::2])]
    active = await store.list(ADA, ListFilter(status=Status.COMPLETED), limit=3)
    assert active.items == ()
    await store.close()


async def test_long_texts_are_caught_up_with_a_few_at_a_time(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "IDLE_SECONDS", 3600.0)
    store = await SqliteStore.open(tmp_path / "long.db", clock, new_id, MAX_BYTES)
    await new(store, ADA, *(f"otter{number} {'x' * (index.LARGEST_STEP // 4)}" for number in range(12)), name="long")
    lags = [index.lag(store._log.reader)]
    while await store.writer.run(lambda: index.catch_up(store._log.reader)):
        lags.append(index.lag(store._log.reader))
    assert lags == [12, 8, 4, 0]
    assert len((await store.search(ADA, "otter7")).items) == 1
    await store.close()
