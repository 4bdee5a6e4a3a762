"""The disk: locks, names beside files, errors of ours."""

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from threadkeep.errors import StoreBusy, StoreDenied, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.filesystem import translating_os_errors

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EFBIG, StoreFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreDenied),
        (errno.EPERM, StoreDenied),
        (errno.EIO, StoreUnavailable),
        (errno.ENOTDIR, StoreUnavailable),
    ],
)
def test_errors_of_the_system_become_ours(number: int, error: type[StoreError]) -> None:
    with pytest.raises(error) as caught, translating_os_errors():
        raise OSError(number, os.strerror(number), "/some/file")
    assert caught.type is error
    assert "/some/file" in str(caught.value)


def test_who_waits_too_long_for_a_lock_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "PATIENCE", 0.01)
    path = tmp_path / "file"
    with filesystem.locked(path), pytest.raises(StoreBusy), filesystem.locked(path):
        pass
    with filesystem.locked(path):
        pass


def test_names_beside_a_file_are_never_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    names = []
    for _ in range(3):
        aside = filesystem.unused_name(path, "corrupt", NOW)
        aside.touch()
        names.append(aside)
    assert [name.name for name in names] == [
        "a.json.corrupt-20250101T120000Z",
        "a.json.corrupt-20250101T120000Z-2",
        "a.json.corrupt-20250101T120000Z-3",
    ]
    assert filesystem.set_aside_files(path, "corrupt") == names
    assert filesystem.set_aside_files(tmp_path / "missing" / "a.json", "corrupt") == []


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    filesystem.make_folder(tmp_path / "a" / "b" / "c")
    filesystem.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_file_has_a_signature_and_no_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert filesystem.signature(path) is None
    path.write_text("one")
    first = filesystem.signature(path)
    assert first is not None
    path.write_text("three")
    assert filesystem.signature(path) != first
    assert filesystem.signature(path / "below") is None
