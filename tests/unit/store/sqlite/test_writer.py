"""The writer: who shares a commit with whom, and who waits for others."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from threadkeep.errors import StoreUnavailable
from threadkeep.store.sqlite.opening import open_file
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite_file import connect


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    connection = open_file(tmp_path / "one.db")[0]
    connection.execute("CREATE TABLE said (word TEXT)")
    writer = Writer(connection, lambda: None, lambda: None)
    yield writer
    await writer.close()


async def _say(writer: Writer, word: str) -> None:
    await writer.run(lambda: writer.connection.execute("INSERT INTO said VALUES (?)", (word,)))


async def _said(writer: Writer) -> list[str]:
    return await writer.run(lambda: [word for (word,) in writer.connection.rows("SELECT word FROM said")])


async def test_what_waits_is_committed_before_the_writer_closes(tmp_path: Path) -> None:
    connection, _ = open_file(tmp_path / "two.db")
    connection.execute("CREATE TABLE said (word TEXT)")
    writer = Writer(connection, lambda: None, lambda: None)
    await _say(writer, "first")
    waiting = asyncio.create_task(_say(writer, "last"))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await writer.close()
        await waiting
    assert connect(tmp_path / "two.db").rows("SELECT word FROM said") == [("first",), ("last",)]


def _no_memory() -> None:
    raise MemoryError


async def test_a_crowd_is_answered_when_beginning_fails_in_the_event_loop(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_begun", _no_memory)
    async with asyncio.timeout(30):
        answers = await asyncio.gather(*(_say(writer, "x") for _ in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 5
    monkeypatch.undo()
    await _say(writer, "room again")
    assert await _said(writer) == ["room again"]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread"), apsw.NoMemError()])
async def test_a_crowd_is_answered_when_the_thread_fails(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(works: object) -> None:
        raise error

    monkeypatch.setattr(writer, "_seconds", 1.0)
    monkeypatch.setattr(writer, "_commit_patiently", fail)
    async with asyncio.timeout(30):
        answers = await asyncio.gather(*(_say(writer, "x") for _ in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 5
    monkeypatch.undo()
    await _say(writer, "again")
    assert await _said(writer) == ["again"]


async def test_commits_go_on_when_no_thread_can_be_started(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(writer, "_seconds", 1.0)
    async with asyncio.timeout(30):
        await asyncio.gather(*(_say(writer, "x") for _ in range(5)))
    assert len(await _said(writer)) == 5


async def test_a_rollback_that_fails_does_not_spoil_the_next_commit(writer: Writer) -> None:
    await _say(writer, "kept")

    def leave_open() -> None:
        writer.connection.execute("INSERT INTO said VALUES ('undone')")
        writer.connection.set_authorizer(lambda action, *rest: action == apsw.SQLITE_TRANSACTION)
        raise MemoryError

    with pytest.raises(MemoryError):
        await writer.run(leave_open)
    assert writer.connection.in_transaction
    writer.connection.set_authorizer(None)
    assert await _said(writer) == ["kept"]
