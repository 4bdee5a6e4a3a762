"""The write-ahead log: what a kill leaves opens, what a power cut tears is dropped, damage is not; and it begins anew
while it is written to without a pause."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite import maintenance, wal
from threadkeep.store.sqlite.opening import open_file
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite_file import connect
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import new, say, texts_of
from threadkeep.testing.stores import everything

FRAME = 24 + 4096
MESSAGES = 12
FLIPS = 150


async def _open(folder: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(folder / "t.db", clock, new_id, MAX_BYTES)


def _pages(store: SqliteStore) -> int:
    """Return how many pages are in the log."""
    assert isinstance(store.writer, Writer)
    return store.writer.checkpoints.pages


@pytest.fixture
async def killed(tmp_path: Path, clock: FakeClock) -> Path:
    """A folder with the files of a process that was killed after some messages: all but the first is in the log, whose
    file has no room left; and the note beside them."""
    store = await _open(tmp_path, clock)
    await new(store, LOCAL, "first", name="kept")
    await store.close()
    store = await _open(tmp_path, clock)
    for number in range(MESSAGES):
        await say(store, "kept", f"message {number}", scope=LOCAL)
    folder = tmp_path / "killed"
    folder.mkdir()
    for name in ("t.db", "t.db-wal", "t.db-mark"):
        shutil.copy(tmp_path / name, folder / name)
    os.truncate(folder / "t.db-wal", 32 + _pages(store) * FRAME)
    await store.close()
    return folder


def _copy(folder: Path, number: int = 0) -> Path:
    return Path(shutil.copytree(folder, folder.parent / f"copy-{number}"))


async def _seen(folder: Path, clock: FakeClock) -> list[Any]:
    store = await _open(folder, clock)
    try:
        return await everything(store, LOCAL)
    finally:
        await store.close()


async def _count(folder: Path, clock: FakeClock) -> int:
    store = await _open(folder, clock)
    try:
        return (await store.get(LOCAL, "kept")).entries
    finally:
        await store.close()


async def _refused(folder: Path, clock: FakeClock) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(StoreCorrupt, match="Nothing was changed"):
        await _open(folder, clock)
    after = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
    assert after == before


async def test_a_log_without_its_file_is_refused_and_left_as_it_is(killed: Path, clock: FakeClock) -> None:
    (killed / "t.db").unlink()
    await _refused(killed, clock)
    (killed / "t.db").touch()
    await _refused(killed, clock)


async def test_a_flipped_bit_in_the_log_is_refused_or_does_no_harm(killed: Path, clock: FakeClock) -> None:
    chance = random.Random(7)
    whole = await _seen(_copy(killed), clock)
    size = (killed / "t.db-wal").stat().st_size
    refused = 0
    for number in range(1, FLIPS + 1):
        folder = _copy(killed, number)
        bit = chance.randrange(size * 8)
        with (folder / "t.db-wal").open("r+b") as log:
            log.seek(bit // 8)
            byte = log.read(1)[0]
            log.seek(bit // 8)
            log.write(bytes([byte ^ (1 << bit % 8)]))
        try:
            assert await _seen(folder, clock) == whole, f"bit {bit}"
        except StoreCorrupt:
            refused += 1
        shutil.rmtree(folder)
    assert refused > FLIPS * 0.9


async def test_what_a_power_cut_tears_off_the_log_is_no_damage(killed: Path, clock: FakeClock) -> None:
    (killed / "t.db-mark").unlink()  # its last line was not on the disk either
    data = (killed / "t.db-wal").read_bytes()
    commits = [at for at in range(32, len(data), FRAME) if any(data[at + 4 : at + 8])]
    before = commits[-2] + FRAME
    for number, cut in enumerate((before, before + 10, before + FRAME // 2, len(data) - 1, len(data))):
        folder = _copy(killed, number)
        os.truncate(folder / "t.db-wal", cut)
        assert await _count(folder, clock) == MESSAGES + (cut == len(data))
    for number, (start, end) in enumerate(((before, before + 1000), (before + 2000, len(data)), (before, len(data)))):
        folder = _copy(killed, 100 + number)
        (folder / "t.db-wal").write_bytes(data[:start] + bytes(end - start) + data[end:])
        assert await _count(folder, clock) == MESSAGES


async def test_the_file_of_the_log_is_longer_than_the_log_so_that_a_commit_need_not_lengthen_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    store, sizes = await _open(tmp_path, clock), set()
    await new(store, LOCAL, "first", name="kept")
    for number in range(MESSAGES):
        await say(store, "kept", f"message {number}", scope=LOCAL)
        sizes.add((tmp_path / "t.db-wal").stat().st_size)
    used = 32 + _pages(store) * FRAME
    await store.close()
    assert max(sizes) > used
    assert len(sizes) < MESSAGES / 4


async def test_room_at_the_end_of_the_log_is_no_damage(killed: Path, clock: FakeClock) -> None:
    whole = await _seen(_copy(killed), clock)
    with (killed / "t.db-wal").open("ab") as log:
        log.write(bytes(100_000))
    assert await _seen(killed, clock) == whole


async def test_the_file_alone_has_everything_when_nobody_has_written_for_a_while(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "MOVE_IDLE_SECONDS", 0.01)
    store = await _open(tmp_path, clock)
    await new(store, LOCAL, "question", "answer", name="kept")
    async with asyncio.timeout(30):
        assert store.maintenance._task is not None
        await store.maintenance._task
    (tmp_path / "alone").mkdir()
    shutil.copy(tmp_path / "t.db", tmp_path / "alone" / "t.db")
    await store.close()
    alone = await _open(tmp_path / "alone", clock)
    assert texts_of(await alone.newest(LOCAL, "kept")) == ["question", "answer"]
    await alone.close()


async def test_opening_moves_the_log_into_the_file_and_flushes_what_is_answered_from_now_on(
    killed: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    real = os.fsync

    def spy(file: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    monkeypatch.setattr(os, "fsync", spy)
    store = await _open(killed, clock)
    assert flushed == [str(killed / "t.db-wal"), str(killed / "t.db"), str(killed)]
    (killed / "alone").mkdir()
    shutil.copy(killed / "t.db", killed / "alone" / "t.db")
    await store.close()
    assert await _count(killed / "alone", clock) == 1 + MESSAGES


TIMES = 3


COPYING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""
"""A process that holds the lock under which SQLite copies the log into the file."""


async def test_a_file_whose_log_another_process_is_copying_opens(tmp_path: Path, clock: FakeClock) -> None:
    first = await _open(tmp_path, clock)
    await new(first, LOCAL, "first", name="kept")
    command = [sys.executable, "-c", COPYING, str(tmp_path / "t.db-shm")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        second = await _open(tmp_path, clock)
        assert (await second.get(LOCAL, "kept")).id == "kept"
        await second.close()
        other.communicate()
    await first.close()


async def test_the_log_begins_anew_while_somebody_writes_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "LONG_PAGES", 20)
    connection, _ = open_file(tmp_path / "one.db")
    connection.execute("CREATE TABLE said (word TEXT)")
    writer = Writer(connection, lambda: None, lambda: None)
    words, pages, times = 0, 0, 0
    async with asyncio.timeout(120):
        while times < TIMES:
            word = str(words)
            await writer.run(lambda word=word: connection.execute("INSERT INTO said VALUES (?)", (word,)))  # type: ignore[misc]
            words, before, pages = words + 1, pages, writer.checkpoints.pages
            times += pages < before
    await writer.close()
    found = connect(tmp_path / "one.db").rows("SELECT word FROM said ORDER BY rowid")
    assert found == [(str(number),) for number in range(words)]
