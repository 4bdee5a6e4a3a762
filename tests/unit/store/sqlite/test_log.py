"""The log of one conversation in SQLite: what is missing is an error, never a shorter branch; messages are counted by a
number kept with each entry, also in files of releases that did not keep it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.errors import EntryNotFound, StoreCorrupt
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    store = await _open(tmp_path, clock)
    yield store
    await store.close()


async def _open(folder: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(folder / "t.db", clock, new_id, MAX_BYTES)


async def test_what_lies_between_two_entries_is_not_read(store: SqliteStore) -> None:
    name = await new(store, ADA, *["x"] * 1000)
    store.writer.connection.execute("DELETE FROM entry WHERE seq BETWEEN 300 AND 700")
    assert await store.count(ADA, name) == 1000


async def test_pages_continue_each_other(store: SqliteStore) -> None:
    name = await new(store, ADA, *"12345")
    assert [entry.seq for entry in await store.newest(ADA, name, limit=2)] == [4, 5]
    assert [entry.seq for entry in await store.newest(ADA, name, before=4, limit=2)] == [2, 3]
    assert [entry.seq for entry in await store.after(ADA, name, 3)] == [4, 5]
    with pytest.raises(EntryNotFound):
        await store.after(ADA, name, 9)


@pytest.mark.parametrize("lost", range(1, 6))
async def test_an_entry_that_is_not_found_is_damage_wherever_it_stood(lost: int, clock: FakeClock) -> None:
    store = MemoryStore(clock, new_id, MAX_BYTES)
    name = await new(store, ADA, *"12345", "a sixth, because the last one is missed in another way")
    store.writer.connection.execute("DELETE FROM entry WHERE seq = ?", (lost,))
    for read in (store.newest(ADA, name), store.after(ADA, name, 0), store.log(ADA, name, Cursor(seq=0))):
        with pytest.raises(StoreCorrupt):
            await read
