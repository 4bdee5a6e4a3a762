"""Deletion in SQLite: a purge that is cut off in the middle."""

from pathlib import Path

import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite import removal
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite_file import connect
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, NO_TIME, new


async def test_a_purge_that_was_cut_off_is_finished_by_the_next(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "STEP", 2)
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    name = await new(store, ADA, *["words"] * 5)
    await store.delete(ADA, name)
    assert await store.writer.run(lambda: store._remover.purge(clock.now))
    await store.close()
    store = await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)
    with pytest.raises(ConversationNotFound):
        await store.restore(ADA, name)
    assert await store.purge(NO_TIME) == 1
    await store.close()
    rows = connect(tmp_path / "t.db")
    assert [rows.value(f"SELECT count(*) FROM {table}") for table in ("conversation", "entry", "word")] == [0, 0, 0]
