"""Files of any store on a disk: errors of the operating system as ours, access rights, locks, atomic replacement, names
for files that are set aside."""

import errno
import fcntl
import logging
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from threadkeep.errors import StoreBusy, StoreDenied, StoreError, StoreFull, StoreReadOnly, StoreUnavailable

_ERRORS: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EFBIG: StoreFull,
    errno.EROFS: StoreReadOnly,
    errno.EACCES: StoreDenied,
    errno.EPERM: StoreDenied,
}


def kind_of(number: int | None) -> type[StoreError]:
    return _ERRORS.get(number or 0, StoreUnavailable)


def explain(kind: type[StoreError], reason: object) -> StoreError:
    """Return an error of this kind that says what it means and, in brackets, what was reported."""
    return kind(f"{(kind.__doc__ or '').splitlines()[0]} ({reason})")


@contextmanager
def translating_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explain(kind_of(error.errno), error) from error


logger = logging.getLogger(__name__)


def warn_if_shared(path: Path) -> None:
    """Log a warning, which `threadkeep doctor` shows, if other users of this machine may use a file or folder."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        logger.warning("%s is open to other users of this machine (mode %o): chmod go= %s", path, mode, path)


PATIENCE = 10.0
"""Seconds to wait for a lock that another process holds."""


class FileSignature(NamedTuple):
    """Identifies the state of a file: as long as it is the same, the file is the one that was read."""

    inode: int
    size: int
    changed: int


NEVER = FileSignature(-1, -1, -1)
"""The signature of a file that was not looked at."""


def signature(path: Path) -> FileSignature | None:
    """Return the signature of a file, or nothing if there is none; a folder is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileSignature(found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is missing and never removed."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(file)
        yield
    finally:
        os.close(file)


def _lock(file: int) -> None:
    until = time.monotonic() + PATIENCE
    pause = 0.0005
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise StoreBusy from None
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that nobody reads before it is complete, and wait until the disk has it."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the disk knows the names in a folder."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, for good and for their owner alone."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(0o700, exist_ok=True)
    sync_folder(path.parent)


def unused_name(path: Path, what: str, now: datetime) -> Path:
    """Return a name beside a file that nothing has yet, such as `a.json.corrupt-20250101T120000Z`."""
    wanted = path.with_name(f"{path.name}.{what}-{now:%Y%m%dT%H%M%SZ}")
    number = 1
    while wanted.exists():
        number += 1
        wanted = path.with_name(f"{path.name}.{what}-{now:%Y%m%dT%H%M%SZ}-{number}")
    return wanted


def set_aside_files(path: Path, what: str) -> list[Path]:
    """Return the files that were set aside from a file under `unused_name`."""
    named = re.compile(rf"{re.escape(path.name)}\.{what}-\d{{8}}T\d{{6}}Z(-\d+)?")
    try:
        return sorted(path.with_name(name) for name in os.listdir(path.parent) if named.fullmatch(name))
    except FileNotFoundError:
        return []
