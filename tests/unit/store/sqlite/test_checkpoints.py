"""Checkpoints: the write-ahead log begins anew while it is written to without a pause, and nothing gets lost by it."""

import asyncio
from pathlib import Path

import pytest

from threadkeep.store.sqlite import wal
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite_file import connect

TIMES = 3


async def test_the_log_begins_anew_while_somebody_writes_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "LONG_PAGES", 20)
    connection = connect(tmp_path / "one.db")
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
