"""Journals in a folder of files: crashes, damage, other releases, full and forbidden disks."""

import errno
import logging
import os
import resource
import subprocess
import sys
from binascii import crc32
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import (
    ConversationNotFound,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.files import tenant_folder
from threadkeep.store.files.store import FilesStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import MINUTE, key, new, running, say, texts_of
from threadkeep.testing.stores import everything


async def _open(path: Path, clock: FakeClock) -> FilesStore:
    return await FilesStore.open(path, clock, new_id, MAX_BYTES)


@pytest_asyncio.fixture
async def files(tmp_path: Path, clock: FakeClock) -> AsyncIterator[FilesStore]:
    opened = await _open(tmp_path, clock)
    yield opened
    await opened.close()


def _journal(path: Path, name: str = "c") -> Path:
    return path / ".threadkeep" / f"{name}.journal"


# Crashes


async def test_a_step_that_a_crash_cut_off_is_set_aside_and_the_next_one_follows(
    files: FilesStore, tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await new(files, LOCAL, "one", name="c")
    whole, view = _journal(tmp_path).read_bytes(), (tmp_path / "c.json").read_bytes()
    await say(files, "c", "two", scope=LOCAL)
    torn = _journal(tmp_path).read_bytes()[:-7]
    _journal(tmp_path).write_bytes(torn)
    (tmp_path / "c.json").write_bytes(view)
    again = await _open(tmp_path, clock)
    with caplog.at_level(logging.WARNING):
        assert (await again.get(LOCAL, "c")).entries == 1
    (aside,) = _journal(tmp_path).parent.glob("c.journal.torn-*")
    assert aside.read_bytes() == torn[len(whole) :]
    assert [problem.path for problem in again.problems()] == [_journal(tmp_path)]
    assert aside.name in caplog.text
    await say(again, "c", "three", scope=LOCAL)
    assert texts_of(await again.newest(LOCAL, "c")) == texts_of(await files.newest(LOCAL, "c")) == ["one", "three"]
    await again.close()


async def test_a_conversation_whose_creation_was_cut_off_was_never_there(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, name="c")
    (tmp_path / "c.json").unlink()
    (tmp_path / ".threadkeep" / "c.mark").unlink()
    _journal(tmp_path).write_bytes(_journal(tmp_path).read_bytes()[:40])
    _journal(tmp_path, "d").touch()
    again = await _open(tmp_path, clock)
    for name in ("c", "d"):
        with pytest.raises(ConversationNotFound):
            await again.get(LOCAL, name)
    assert (await again.list(LOCAL)).items == ()
    for name in ("c", "d"):
        await new(again, LOCAL, "anew", name=name)
    assert len((await again.list(LOCAL)).items) == 2
    await again.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda journal: journal.write_bytes(b""),
        lambda journal: journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1])),
        lambda journal: journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:1])),
        lambda journal: journal.write_bytes(journal.read_bytes() + journal.read_bytes().splitlines(keepends=True)[-1]),
        lambda journal: journal.unlink(),
    ],
)
async def test_a_journal_that_lost_or_doubled_lines_is_damaged_and_left_as_it_is(
    files: FilesStore, tmp_path: Path, clock: FakeClock, damage: Callable[[Path], object]
) -> None:
    await new(files, LOCAL, "one", name="c")
    await say(files, "c", "two", scope=LOCAL)
    await files.write_views()
    damage(_journal(tmp_path))
    before = _journal(tmp_path).read_bytes() if _journal(tmp_path).exists() else None
    again = await _open(tmp_path, clock)
    for _ in range(2):
        with pytest.raises(StoreCorrupt):
            await again.newest(LOCAL, "c")
        with pytest.raises(StoreCorrupt):
            await say(again, "c", "more", scope=LOCAL)
    assert (await again.list(LOCAL)).items == ()
    await again.close()
    assert (_journal(tmp_path).read_bytes() if _journal(tmp_path).exists() else None) == before


async def test_what_a_killed_process_wrote_is_flushed_before_it_is_answered(
    files: FilesStore, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(files, LOCAL, "one", name="c")
    again = await _open(tmp_path, clock)
    flushed: list[str] = []
    real = os.fsync

    def spy(file: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    monkeypatch.setattr(os, "fsync", spy)
    await again.newest(LOCAL, "c")
    assert flushed[0] == str(_journal(tmp_path))
    await again.close()


async def test_a_damaged_journal_is_the_problem_of_its_conversation_only(files: FilesStore, tmp_path: Path) -> None:
    for name in ("a", "c"):
        await new(files, LOCAL, "one", name=name)
    _journal(tmp_path).write_bytes(_journal(tmp_path).read_bytes().replace(b"one", b"two"))
    for _ in range(3):
        await files.ping()
    await say(files, "a", "two", scope=LOCAL)


async def test_a_creation_that_stopped_after_its_key_goes_on(files: FilesStore, tmp_path: Path) -> None:
    first = await files.create(LOCAL, NewConversation(), key=key("k"))
    name = first.conversation.id
    _journal(tmp_path, name).unlink()
    (tmp_path / f"{name}.json").unlink()
    again = await files.create(LOCAL, NewConversation(), key=key("k"))
    assert not again.replayed
    assert (await files.create(LOCAL, NewConversation(), key=key("k"))).conversation.id == again.conversation.id


async def test_a_key_file_that_is_damaged_means_nothing(files: FilesStore, tmp_path: Path) -> None:
    for text in (b"", b"../../etc/passwd", b"\xff"):
        await files.create(LOCAL, NewConversation(id="c"), key=key("k"))
        (name,) = (tmp_path / ".threadkeep" / "keys").iterdir()
        await files.delete(LOCAL, "c")
        name.write_bytes(text)
        assert not (await files.create(LOCAL, NewConversation(id="c"), key=key("k"))).replayed
        await files.delete(LOCAL, "c")
        assert not name.exists()


# Damage


async def test_damage_stops_one_conversation_and_nothing_is_written_over(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, "one", "two", name="c")
    await say(files, "c", "three", scope=LOCAL)
    await new(files, LOCAL, "fine", name="fine")
    data = bytearray(_journal(tmp_path).read_bytes())
    data[len(data) // 2] ^= 0xFF
    _journal(tmp_path).write_bytes(data)
    again = await _open(tmp_path, clock)
    for verb in (
        again.get(LOCAL, "c"),
        say(again, "c", "x", scope=LOCAL),
        again.delete(LOCAL, "c"),
        new(again, LOCAL, name="c"),
    ):
        with pytest.raises(StoreCorrupt, match=r"c\.journal is damaged at byte"):
            await verb
    assert [one.id for one in (await again.list(LOCAL)).items] == ["fine"]
    assert len((await again.search(LOCAL, "fine")).items) == 1
    assert _journal(tmp_path).read_bytes() == data
    assert "c.json" in [problem.path.name for problem in again.problems()]
    await again.close()


async def test_a_damaged_conversation_of_somebody_else_is_not_found(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, "one", name="c")
    _journal(tmp_path).write_bytes(_journal(tmp_path).read_bytes() + b"damage\n")
    again = await _open(tmp_path, clock)
    with pytest.raises(StoreCorrupt):
        await again.get(LOCAL, "c")
    with pytest.raises(ConversationNotFound):
        await again.get(Scope(tenant="local", user="other"), "c")
    await again.close()


async def test_a_journal_without_its_beginning_is_damaged(files: FilesStore, tmp_path: Path, clock: FakeClock) -> None:
    await new(files, LOCAL, "one", name="c")
    lines_ = _journal(tmp_path).read_bytes().splitlines(keepends=True)
    _journal(tmp_path).write_bytes(b"".join(lines_[1:]))
    again = await _open(tmp_path, clock)
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="damaged"):
            await again.get(LOCAL, "c")
    await again.close()


async def test_a_journal_of_a_newer_release_is_left_alone(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", name="c")
    payload = b'[{"format":3,"news":true}]'
    last = int(_journal(tmp_path).read_bytes().splitlines()[-1][:8], 16)
    with _journal(tmp_path).open("ab") as file:
        file.write(b"%08x %b\n" % (crc32(payload, last), payload))
    before = _journal(tmp_path).read_bytes()
    with pytest.raises(StoreTooNew, match=r"c\.journal"):
        await files.get(LOCAL, "c")
    with pytest.raises(StoreTooNew):
        await say(files, "c", "x", scope=LOCAL)
    assert (await files.list(LOCAL)).items == ()
    assert _journal(tmp_path).read_bytes() == before


# Other processes


async def test_a_conversation_that_another_process_made_anew_is_read_anew(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    other = await _open(tmp_path, clock)
    await new(files, LOCAL, "old words", name="c")
    await other.delete(LOCAL, "c")
    await new(other, LOCAL, "new words", name="c")
    assert texts_of(await files.newest(LOCAL, "c")) == ["new words"]
    assert (await files.search(LOCAL, "old")).items == ()
    await say(files, "c", "more", scope=LOCAL)
    assert await everything(files, LOCAL) == await everything(other, LOCAL)
    await other.close()


async def test_more_conversations_than_are_kept_in_memory_are_all_there(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_folder, "OPEN_CONVERSATIONS", 2)
    files = await _open(tmp_path, clock)
    for number in range(6):
        clock.advance(1)
        await new(files, LOCAL, f"message number{number}", name=f"c{number}")
    assert [one.id for one in (await files.list(LOCAL)).items] == [f"c{number}" for number in range(5, -1, -1)]
    assert len((await files.search(LOCAL, "message")).items) == 6
    assert [hit.conversation for hit in (await files.search(LOCAL, "number0")).items] == ["c0"]
    await running(files, "c1", scope=LOCAL)
    clock.advance(3600)
    assert [turn.conversation for turn in await files.expired(MINUTE)] == ["c1"]
    await files.close()


# The disk


@contextmanager
def _full(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size: the system then says EFBIG, as a quota would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_when_the_disk_is_full_nothing_is_half_written_and_it_goes_on_when_there_is_room(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, "one", name="c")
    lease = await running(files, "c", scope=LOCAL)
    before = await everything(files, LOCAL)
    size = _journal(tmp_path).stat().st_size
    with _full(size + 30):
        for verb in (say(files, "c", "x" * 1000, scope=LOCAL), files.write(lease, "m", 0, "y" * 1000)):
            with pytest.raises(StoreFull):
                await verb
        assert _journal(tmp_path).stat().st_size == size
        assert await everything(files, LOCAL) == before
    with _full(10):
        with pytest.raises(StoreFull):
            await new(files, LOCAL, name="another")
        assert not _journal(tmp_path, "another").exists()
    assert await everything(files, LOCAL) == before
    await say(files, "c", "x" * 1000, scope=LOCAL)
    again = await _open(tmp_path, clock)
    assert await everything(again, LOCAL) == await everything(files, LOCAL)
    await again.close()


async def test_a_full_disk_can_be_read_and_tells_so_when_pinged(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, "one", name="c")
    _journal(tmp_path).write_bytes(_journal(tmp_path).read_bytes() + b"cut off")
    with _full(0):
        again = await _open(tmp_path, clock)
        assert texts_of(await again.newest(LOCAL, "c")) == ["one"]
        with pytest.raises(StoreFull):
            await again.ping()
    await again.ping()
    await say(again, "c", "two", scope=LOCAL)
    assert texts_of(await again.newest(LOCAL, "c")) == ["one", "two"]
    assert sorted(path.name for path in _journal(tmp_path).parent.glob("ping*")) == []
    await again.close()


async def test_a_message_counts_although_its_view_could_not_be_written(
    files: FilesStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(files, LOCAL, "one", name="c")
    await files.write_views()
    before = (tmp_path / "c.json").read_bytes()

    def fail(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        await say(files, "c", "two", scope=LOCAL)
        await files.write_views()
        assert (tmp_path / "c.json").read_bytes() == before
        assert [problem.path.name for problem in files.problems()] == ["c.json"]
    assert (await files.get(LOCAL, "c")).entries == 2
    assert b"two" in (tmp_path / "c.json").read_bytes()


_AS_NOBODY = """
import asyncio, os, sys
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreDenied
from threadkeep.runtime import open_store
from threadkeep.store.files.store import FilesStore
from threadkeep.testing.samples import new, say, texts_of

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)

async def main():
    store = await open_store("files:///" + sys.argv[1])
    assert texts_of(await store.newest(LOCAL, "c")) == ["one"]
    assert len((await store.list(LOCAL)).items) == 1
    for verb in (say(store, "c", "x", scope=LOCAL), new(store, LOCAL), store.ping(), store.delete(LOCAL, "c")):
        try:
            await verb
        except StoreDenied:
            continue
        raise AssertionError("it was allowed")
    await store.close()

asyncio.run(main())
"""


async def test_who_may_not_write_may_read_and_is_told_so(clock: FakeClock) -> None:
    # Not in tmp_path, whose parents are closed to whom root becomes here.
    with TemporaryDirectory() as name:
        files = await _open(Path(name), clock)
        await new(files, LOCAL, "one", name="c")
        await files.close()
        found = [Path(name), *Path(name).rglob("*")]
        for path in found:
            path.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", _AS_NOBODY, name], capture_output=True, text=True)
        for path in found:
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr


async def test_a_read_only_disk_can_be_read(
    files: FilesStore, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(files, LOCAL, "one", name="c")
    real = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise OSError(errno.EROFS, "read-only", str(path))
        return real(path, flags, mode)

    again = await _open(tmp_path, clock)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        assert texts_of(await again.newest(LOCAL, "c")) == ["one"]
        assert len((await again.list(LOCAL)).items) == 1
        for verb in (say(again, "c", "x", scope=LOCAL), new(again, LOCAL), again.ping()):
            with pytest.raises(StoreReadOnly):
                await verb
    await say(again, "c", "two", scope=LOCAL)
    assert texts_of(await again.newest(LOCAL, "c")) == ["one", "two"]
    await again.close()


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable):
        await _open(tmp_path / "file" / "below", clock)


async def test_a_closed_store_is_unavailable(files: FilesStore) -> None:
    await files.close()
    with pytest.raises(StoreUnavailable):
        await files.list(LOCAL)
