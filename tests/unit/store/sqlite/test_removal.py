"""Deletion in SQLite: a purge that is cut off in the middle."""

import random
import struct
from pathlib import Path

import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound, StoreError
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite import removal
from threadkeep.store.sqlite import store as sqlite_store
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite_file import connect
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, NO_TIME, new
from threadkeep.text.words import words


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
    assert await store.operations.purge(NO_TIME) == 1
    await store.close()
    rows = connect(tmp_path / "t.db")
    assert [rows.value(f"SELECT count(*) FROM {table}") for table in ("conversation", "entry", "word")] == [0, 0, 0]


PAGE = 4096
LETTERS = [chr(number) for number in range(ord("а"), ord("я"))]


async def _open(tmp_path: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(tmp_path / "t.db", clock, new_id, MAX_BYTES)


def _leave_behind(path: Path, word: bytes) -> int:
    """Write a word where SQLite leaves copies of rows: between pointers and cells of every leaf; return how often."""
    data, left = bytearray(path.read_bytes()), 0
    for at in range(PAGE, len(data), PAGE):
        if data[at] in (10, 13):
            cells, content = struct.unpack_from(">HH", data, at + 3)
            unused = at + 8 + 2 * cells
            if at + content - unused > len(word):
                data[unused : unused + len(word)] = word
                left += 1
    path.write_bytes(data)
    return left


async def test_copies_of_rows_in_unused_room_of_pages_are_overwritten(tmp_path: Path, clock: FakeClock) -> None:
    store = await _open(tmp_path, clock)
    kept = await new(store, ADA, *(f"kept {number}" for number in range(300)))
    gone = await new(store, ADA, "gone")
    await store.close()
    assert _leave_behind(tmp_path / "t.db", b"zebrafinch") > 10
    store = await _open(tmp_path, clock)
    await store.delete(ADA, gone)
    assert await store.operations.purge(NO_TIME) == 1
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(b"zebrafinch" in data for data in files)
    assert len(await store.newest(ADA, kept, limit=1000)) == 300
    await store.close()
    assert connect(tmp_path / "t.db").pragma("integrity_check") == "ok"


async def test_no_separator_of_the_index_is_the_beginning_of_a_removed_word(tmp_path: Path, clock: FakeClock) -> None:
    chance = random.Random(1)
    store = await _open(tmp_path, clock)
    said = {}
    for person in (ADA, BOB):
        # Letters of two bytes each, so that a separator may end within one.
        texts = [" ".join("".join(chance.choices(LETTERS, k=12)) for _ in range(80)) for _ in range(60)]
        said[person] = await new(store, person, *texts), sorted(words(" ".join(texts)))
    await store.maintenance.catch_up()
    await store.delete(BOB, said[BOB][0])
    assert await store.operations.purge(NO_TIME) == 1
    separators = [bytes(term)[1:] for (term,) in store._log.db.execute("SELECT term FROM word_idx")]
    present = [word.encode() for word in (*said[ADA][1], "¤")]
    assert len(separators) > 20
    assert [start for start in separators if not any(word.startswith(start) for word in present)] == []
    store._log.db.execute("INSERT INTO word (word) VALUES ('integrity-check')")
    for word in said[ADA][1][::100]:
        assert len((await store.search(ADA, word)).items) == 1
    await store.close()


async def test_a_purge_that_was_cut_off_before_the_overwriting_is_finished_by_the_next(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await _open(tmp_path, clock)
    await store.delete(ADA, await new(store, ADA, "gone"))

    def fail(path: Path) -> None:
        raise StoreError(f"{path} was cut off")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "scrub", fail)
        with pytest.raises(StoreError):
            await store.operations.purge(NO_TIME)
    await store.close()
    _leave_behind(tmp_path / "t.db", b"zebrafinch")
    store = await _open(tmp_path, clock)
    assert await store.operations.purge(NO_TIME) == 1
    assert await store.operations.purge(NO_TIME) == 0
    assert b"zebrafinch" not in (tmp_path / "t.db").read_bytes()
    await store.close()
