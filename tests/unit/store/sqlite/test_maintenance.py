"""The pulse: `ping` tells the truth about reading and writing, soon."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt, StoreError, StoreUnavailable
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite import maintenance
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import new


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    await new(store, LOCAL, *["words"] * 30, name="kept")
    yield store
    await store.close()


async def test_every_ping_writes_something_new(store: SqliteStore, tmp_path: Path) -> None:
    reader = apsw.Connection(str(tmp_path / "t.db"))
    for beats in (1, 2, 3):
        await store.operations.ping()
        assert reader.execute("SELECT beats FROM pulse").fetchall() == [(beats,)]
    reader.close()


async def test_a_file_that_is_gone_or_another_one_is_told(store: SqliteStore, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreUnavailable):
        await store.operations.ping()
    path.touch()
    with pytest.raises(StoreUnavailable):
        await store.operations.ping()
    path.unlink()
    (tmp_path / "moved.db").rename(path)
    await store.operations.ping()


async def test_who_holds_the_file_for_too_long_is_told_of(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CHECK_SECONDS", 0.05)
    other = apsw.Connection(str(tmp_path / "t.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable):
        await store.operations.ping()
    other.execute("ROLLBACK")
    other.close()
    monkeypatch.undo()
    await store.operations.ping()


@pytest.mark.parametrize("table", ["entry", "entry_by_seq"])
async def test_a_damaged_page_is_told_until_it_is_mended(store: SqliteStore, tmp_path: Path, table: str) -> None:
    db = store.writer.connection
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    page = db.value("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,))
    with (tmp_path / "t.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        good = file.read(4096)
        file.seek((page - 1) * 4096)
        file.write(b"\xaa" * 4096)
        file.flush()
        for _ in range(3):
            with pytest.raises(StoreCorrupt):
                await store.operations.ping()
        file.seek((page - 1) * 4096)
        file.write(good)
        file.flush()
    await store.operations.ping()


async def test_all_entries_are_looked_at_in_time(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "_SLICE", 10)
    store.writer.connection.execute("UPDATE entry SET parent = 7 WHERE seq = 25")
    told = 0
    for _ in range(5):
        try:
            await store.operations.ping()
        except StoreError:
            told += 1
    assert told == 3
