"""When files fail: full, read-only, not ours, damaged, from a newer release. One error each, and nothing is harmed."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.paging import walk
from threadkeep.testing.samples import new, texts_of
from threadkeep.testing.stores import everything

EMBEDDED = ("sqlite", "files")


def _url(backend: str, folder: Path) -> str:
    return f"{backend}:///{folder / 'store'}"


def _run(scenario: str, backend: str, folder: Path, *, private_mounts: bool = True) -> None:
    """Play a scenario of `bad_disk` in a process of its own, with the right to mount a disk that only it sees."""
    command = [sys.executable, "-m", "tests.integration.bad_disk", scenario, _url(backend, folder), str(folder)]
    if private_mounts:
        command = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr


async def _kept(backend: str, folder: Path) -> str:
    """Make a store with one conversation in it, and return its URL."""
    url = _url(backend, folder)
    store = await open_store(url)
    await new(store, LOCAL, "question", "answer", name="kept")
    await store.close()
    return url


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("backend", EMBEDDED)
def test_a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room(backend: str, tmp_path: Path) -> None:
    _run("full", backend, tmp_path)


@pytest.mark.parametrize("backend", EMBEDDED)
def test_a_file_that_may_grow_no_more_is_full_and_goes_on_when_it_may(backend: str, tmp_path: Path) -> None:
    _run("limited", backend, tmp_path, private_mounts=False)


@pytest.mark.parametrize("backend", EMBEDDED)
async def test_what_is_stored_is_for_its_owner_alone_whatever_the_umask(backend: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = await open_store(_url(backend, tmp_path))
        await new(store, LOCAL, "secret", name="kept")
        made = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "store", *tmp_path.rglob("store*/**/*"))}
        made |= {path: path.stat().st_mode & 0o777 for path in tmp_path.glob("store-*")}
        await store.close()
    finally:
        os.umask(before)
    assert len(made) >= 3
    assert {mode for path, mode in made.items() if path.is_dir()} <= {0o700}
    assert {mode for path, mode in made.items() if path.is_file()} <= {0o600}


@pytest.mark.parametrize("backend", EMBEDDED)
async def test_a_store_that_others_may_read_is_warned_about(
    backend: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = await _kept(backend, tmp_path)
    await (await open_store(url)).close()
    assert caplog.messages == []
    (tmp_path / "store").chmod(0o755)
    await (await open_store(url)).close()
    assert [message.partition(" (")[0] for message in caplog.messages] == [
        f"{tmp_path / 'store'} is open to other users of this machine"
    ]


@pytest.mark.parametrize("backend", EMBEDDED)
def test_a_read_only_disk_is_named_and_harms_nothing(backend: str, tmp_path: Path) -> None:
    _run("read_only", backend, tmp_path)


@pytest.mark.parametrize("backend", EMBEDDED)
async def test_a_folder_that_may_not_be_entered_is_denied(backend: str, tmp_path: Path) -> None:
    url = await _kept(backend, tmp_path)
    # The folders above are pytest's own and closed to others: let them through as far as the store's.
    for above in (tmp_path.parent, tmp_path.parent.parent):
        above.chmod(0o755)
    tmp_path.chmod(0o700 if os.geteuid() == 0 else 0o000)
    try:
        _run("denied", backend, tmp_path, private_mounts=False)
    finally:
        tmp_path.chmod(0o700)
    store = await open_store(url)
    assert (await store.get(LOCAL, "kept")).entries == 2
    await store.close()


@pytest.mark.parametrize("backend", EMBEDDED)
async def test_files_that_may_not_be_written_are_denied_and_stay_as_they_are(backend: str, tmp_path: Path) -> None:
    await _kept(backend, tmp_path)
    for path in (tmp_path.parent.parent, tmp_path.parent, tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = _files(tmp_path)
    try:
        _run("denied", backend, tmp_path, private_mounts=False)
    finally:
        for path in (tmp_path.parent.parent, tmp_path.parent, tmp_path, *tmp_path.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert _files(tmp_path) == before


@pytest.mark.parametrize("backend", EMBEDDED)
async def test_a_place_where_no_store_can_be_is_unavailable(backend: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        await open_store(f"{backend}:///{tmp_path / 'file' / 'store'}")
    assert (tmp_path / "file").read_text() == "in the way"


async def test_a_folder_in_place_of_the_sqlite_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        await open_store(f"sqlite:///{tmp_path}")


async def test_a_file_in_place_of_the_folder_of_files_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        await open_store(f"files:///{tmp_path / 'file'}")


async def test_a_file_that_is_no_database_is_corrupt_and_left_as_it_is(tmp_path: Path) -> None:
    garbage = b"this was never a database " * 1000
    (tmp_path / "store").write_bytes(garbage)
    with pytest.raises(StoreCorrupt):
        await open_store(_url("sqlite", tmp_path))
    assert _files(tmp_path) == {tmp_path / "store": garbage}


async def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    theirs = sqlite3.connect(tmp_path / "store")
    theirs.execute("CREATE TABLE theirs (a)")
    theirs.commit()
    theirs.close()
    before = (tmp_path / "store").read_bytes()
    with pytest.raises(StoreCorrupt):
        await open_store(_url("sqlite", tmp_path))
    after = sqlite3.connect(tmp_path / "store")
    assert after.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    after.close()
    assert len((tmp_path / "store").read_bytes()) == len(before)


async def _read_everything(store: Store) -> None:
    await everything(store, LOCAL)
    await store.search(LOCAL, "message")
    for conversation in (await store.list(LOCAL)).items:
        async for _ in walk(store, LOCAL, conversation.id):
            pass


@pytest.mark.parametrize("page", range(2, 30, 3))
async def test_damaged_pages_of_the_database_are_reported_as_corrupt_or_do_no_harm(tmp_path: Path, page: int) -> None:
    store = await open_store(_url("sqlite", tmp_path))
    for number in range(5):
        await new(store, LOCAL, *(f"message {number} {text}" for text in range(200)))
    await store.close()
    path = tmp_path / "store"
    with closing(apsw.Connection(str(path))) as whole:
        whole.pragma("journal_mode", "delete")
        size = whole.pragma("page_size")
    data = bytearray(path.read_bytes())
    assert len(data) > 30 * size, "the store must have the pages that are damaged here"
    data[page * size : (page + 1) * size] = b"\xaa" * size
    path.write_bytes(data)
    with suppress(StoreCorrupt):
        store = await open_store(_url("sqlite", tmp_path))
        try:
            await _read_everything(store)
        finally:
            await store.close()


@pytest.mark.parametrize("damage", [b"\x01garbage", b"\x63unknown", b"\x00\xff\xff"])
async def test_a_damaged_entry_of_the_database_is_reported_and_the_others_are_readable(
    tmp_path: Path, damage: bytes
) -> None:
    url = await _kept("sqlite", tmp_path)
    with closing(apsw.Connection(str(tmp_path / "store"))) as raw:
        raw.execute("UPDATE entry SET content = ? WHERE seq = 2", (damage,))
    store = await open_store(url)
    assert texts_of((await store.entry(LOCAL, "kept", 1),)) == ["question"]
    with pytest.raises(StoreCorrupt):
        await store.entry(LOCAL, "kept", 2)
    with pytest.raises(StoreCorrupt):
        await store.newest(LOCAL, "kept")
    await new(store, LOCAL, "unharmed", name="other")
    await store.close()


async def test_a_database_of_a_newer_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    url = await _kept("sqlite", tmp_path)
    with closing(apsw.Connection(str(tmp_path / "store"))) as raw:
        version = raw.pragma("user_version")
        raw.pragma("user_version", version + 1)
    with pytest.raises(StoreTooNew):
        await open_store(url)
    with closing(apsw.Connection(str(tmp_path / "store"))) as raw:
        assert raw.pragma("user_version") == version + 1
        raw.pragma("user_version", version)
    store = await open_store(url)
    assert (await store.get(LOCAL, "kept")).entries == 2
    await store.close()
