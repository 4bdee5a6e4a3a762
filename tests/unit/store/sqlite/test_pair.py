"""A file and a log that belong together open with everything; any other pair is refused, and left as it is."""

import logging
import os
import shutil
from pathlib import Path

import apsw
import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite.opening import back_up, set_log_aside
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import new, say

MESSAGES = {"older": 1, "before": 2, "now": 3, "newer": 4, "another": 5}
"""How many messages our files have with their logs. "before" has the same file as "now", and a shorter log."""
KINDS = ("older", "now", "newer", "another", "program", "garbage", "cut", "missing")


async def _open(folder: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(folder / "t.db", clock, new_id, MAX_BYTES)


def _keep(folder: Path, target: Path, name: str) -> None:
    for end in ("", "-wal", "-mark"):
        shutil.copy(folder / f"t.db{end}", target / f"{name}{end}")


async def _write_ours(tmp_path: Path, clock: FakeClock, parts: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    store, other = await _open(tmp_path / "a", clock), await _open(tmp_path / "b", clock)
    for each in (store, other):
        await new(each, LOCAL, name="kept")
    for name in ("older", "before", "now", "newer"):
        if name != "now":
            store.writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        await say(store, "kept", f"a message {name}", scope=LOCAL)
        _keep(tmp_path / "a", parts, name)
    for _ in range(MESSAGES["another"]):
        await say(other, "kept", "a message of another", scope=LOCAL)
    _keep(tmp_path / "b", parts, "another")
    await store.close()
    await other.close()


@pytest.fixture
async def parts(tmp_path: Path, clock: FakeClock) -> Path:
    """A folder with files and logs of every kind."""
    parts = tmp_path / "parts"
    parts.mkdir()
    await _write_ours(tmp_path, clock, parts)
    program = apsw.Connection(str(tmp_path / "t.db"))
    program.pragma("journal_mode", "wal")
    program.execute("CREATE TABLE other (word TEXT)")
    program.wal_checkpoint()
    program.execute("INSERT INTO other VALUES ('new')")
    (tmp_path / "t.db-mark").touch()
    _keep(tmp_path, parts, "program")
    program.close()
    for end in ("", "-wal"):
        (parts / f"garbage{end}").write_bytes(b"no database " * 1000)
        shutil.copy(parts / f"now{end}", parts / f"cut{end}")
    os.truncate(parts / "cut", (parts / "cut").stat().st_size // 8192 * 4096)
    os.truncate(parts / "cut-wal", 32 + 2 * 4120 + 100)
    return parts


def _pair(parts: Path, file: str, log: str, *, note: str | None = None) -> Path:
    """Put a file and a log into a folder of their own, with the note that was beside the file, or another."""
    folder = parts.parent / f"{file}-{log}-{note}"
    folder.mkdir()
    for kind, end in ((file, ""), (log, "-wal"), (note or file, "-mark")):
        if (parts / f"{kind}{end}").exists():
            shutil.copy(parts / f"{kind}{end}", folder / f"t.db{end}")
    return folder


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


async def _messages(folder: Path, clock: FakeClock) -> int:
    store = await _open(folder, clock)
    try:
        return await store.count(LOCAL, "kept")
    finally:
        await store.close()


async def test_of_all_pairs_those_open_that_belong_together_and_all_others_stay_as_they_are(
    parts: Path, clock: FakeClock
) -> None:
    opened = []
    for file in KINDS:
        for log in KINDS:
            if (file, log) == ("missing", "missing"):
                continue
            folder = _pair(parts, file, log)
            before = _bytes(folder)
            try:
                assert await _messages(folder, clock) == MESSAGES[file]
            except StoreCorrupt:
                assert _bytes(folder) == before, (file, log)
            else:
                opened.append((file, log))
    assert opened == [(kind, kind) for kind in ("older", "now", "newer", "another")]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("older", "older: the last 2 commits"),
        ("newer", "is newer than"),
        ("another", "is the log of another store"),
        ("program", "damaged"),
        ("garbage", "damaged"),
        ("before", "older: the last 1 commits"),
        ("missing", "missing, cut or older: the last 2 commits"),
        ("cut", "missing, cut or older"),
    ],
)
async def test_what_is_wrong_is_said_and_one_can_go_on_with_what_is_there(
    parts: Path, clock: FakeClock, log: str, said: str
) -> None:
    folder = _pair(parts, "now", log)
    with pytest.raises(StoreCorrupt, match=said):
        await _open(folder, clock)
    logs = (folder / "t.db-wal").exists()
    assert set_log_aside(folder / "t.db") is not None
    assert await _messages(folder, clock) == (2 if log == "before" else 1)
    assert (folder / "t.db-log-1").exists() == (logs and log not in ("older", "before", "cut"))
    assert set_log_aside(folder / "t.db") is None


async def test_a_file_and_a_log_without_the_note_beside_them_open(parts: Path, clock: FakeClock) -> None:
    assert await _messages(_pair(parts, "now", "now", note="missing"), clock) == 3


async def test_an_older_copy_of_both_that_was_put_back_opens_and_what_is_missing_is_told(
    parts: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert await _messages(_pair(parts, "older", "older", note="newer"), clock) == 1
    assert "is an older copy: at least" in caplog.text


@pytest.mark.parametrize("how", ["VACUUM INTO", "backup", "our backup", "closed"])
async def test_copies_open_alone_and_beside_the_note_of_the_store(tmp_path: Path, clock: FakeClock, how: str) -> None:
    store = await _open(tmp_path, clock)
    await new(store, LOCAL, "one", "two", name="kept")
    (tmp_path / "copy").mkdir()
    target, beside = tmp_path / "copy" / "t.db", apsw.Connection(str(tmp_path / "t.db"))
    match how:
        case "VACUUM INTO":
            beside.execute("VACUUM INTO ?", (str(target),)).fetchall()
        case "backup":
            with apsw.Connection(str(target)) as here, here.backup("main", beside, "main") as backup:
                backup.step()
        case "our backup":
            back_up(tmp_path / "t.db", target, lambda _: None)
    beside.close()
    await store.close()
    if how == "closed":
        shutil.copy(tmp_path / "t.db", target)
    shutil.copy(tmp_path / "t.db-mark", target.with_name("t.db-mark"))
    assert await _messages(tmp_path / "copy", clock) == 2


async def test_another_program_may_move_the_log_of_a_killed_process_into_the_file(
    parts: Path, clock: FakeClock
) -> None:
    folder = _pair(parts, "now", "now")
    program = apsw.Connection(str(folder / "t.db"))
    program.execute("SELECT count(*) FROM entry").fetchall()
    program.close()
    assert not (folder / "t.db-wal").exists()
    assert await _messages(folder, clock) == 3


async def test_a_copy_is_not_made_of_a_file_beside_a_foreign_log(parts: Path) -> None:
    folder = _pair(parts, "now", "another")
    before = _bytes(folder)
    with pytest.raises(StoreCorrupt, match="another store"):
        back_up(folder / "t.db", parts / "copied", lambda _: None)
    assert _bytes(folder) == before


async def test_a_note_that_somebody_takes_away_is_written_anew_by_the_next_commit(
    tmp_path: Path, clock: FakeClock
) -> None:
    note = tmp_path / "t.db-mark"
    store = await _open(tmp_path, clock)
    await store.create(LOCAL, NewConversation(id="one"))
    first = note.read_bytes()
    await store.create(LOCAL, NewConversation(id="two"))
    second = note.read_bytes()
    note.unlink()
    await store.create(LOCAL, NewConversation(id="three"))
    third = note.read_bytes()
    await store.close()
    assert first < second < third
    assert len(first) == len(second) == len(third)
