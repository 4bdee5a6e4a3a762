"""Saving a skill's folder: whole or not at all, under one configured folder and never outside it.

The way down is walked folder by folder without following a link, each step relative to the one before, so that nothing
that somebody puts in between leads elsewhere. The folder is written beside its place and renamed to it.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, InvalidValue
from threadkeep_assistants.skill_creator.naming import name_error
from threadkeep_assistants.skill_creator.validation import MAIN, path_error

LAYERS = ("personal", "shared")
"""Who sees a skill: its user alone, or everybody of the tenant."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a skill goes: below `root`, to a layer of a tenant."""

    root: Path
    scope: Scope
    layer: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The folders below the root. Tenants and users are ids, which are harmless in paths."""
        if self.layer not in LAYERS:
            raise InvalidValue(f"A skill is saved as one of {', '.join(LAYERS)}.")
        own = (self.scope.user,) if self.layer == "personal" else ()
        return (self.scope.tenant, self.layer, *own)


def save(place: Place, name: str, files: Mapping[str, str], *, mark: str, replace: bool = False) -> str:
    """Save the files of a skill and return where, relative to the root. The same files once more change nothing.

    `mark` tells attempts apart; one that is made again after a crash with the same mark clears away what it left.
    Raises AlreadyExists if another skill has the name and shall not be replaced, InvalidValue for a name or path that
    leads elsewhere, and OSError.
    """
    _check(name, files)
    contents = {path: text.encode() for path, text in files.items()}
    with _walked(place) as folder:
        if _stored(folder, name) != contents:
            _put(folder, name, contents, mark, replace=replace)
        _clear(folder, _aside(name, mark))
    return "/".join((*place.parts, name))


def _check(name: str, files: Mapping[str, str]) -> None:
    if error := name_error(name):
        raise InvalidValue(error)
    wrong = [error for path in files if path != MAIN and (error := path_error(path))]
    if wrong or MAIN not in files:
        raise InvalidValue(wrong[0] if wrong else f"There is no {MAIN}.")


@contextmanager
def _walked(place: Place) -> Iterator[int]:
    """Open the folder of a place, made if need be."""
    place.root.mkdir(parents=True, exist_ok=True)
    folder = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in place.parts:
            below = _entered(folder, part)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _entered(folder: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise InvalidValue(f"{name} is a link or a file where a folder should be; nothing was saved.") from error


def _stored(folder: int, name: str) -> dict[str, bytes] | None:
    """Return the files of a skill that is there, with whatever else lies in its folder; None if there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        raise InvalidValue(f"{name} is a link or a file where a folder should be; nothing was saved.")
    files: dict[str, bytes] = {}
    for path, _, names, inside in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        for file in names:
            files[os.path.relpath(os.path.join(path, file), name)] = _read(file, inside)
    return files


def _read(name: str, folder: int) -> bytes:
    """Return the bytes of a file; of anything else, something that no file of ours holds."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b"\xff no file"
    with os.fdopen(file, "rb") as opened:
        return opened.read()


def _aside(name: str, mark: str) -> str:
    """Return the name that a skill has while another takes its place."""
    return f".{name}.{mark}.old"


def _clear(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=folder)


def _put(folder: int, name: str, contents: Mapping[str, bytes], mark: str, *, replace: bool) -> None:
    new = f".{name}.{mark}.new"
    _clear(folder, new)
    try:
        _write(folder, new, contents)
        if replace:
            with suppress(FileNotFoundError):
                os.rename(name, _aside(name, mark), src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        _clear(folder, new)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise AlreadyExists(f"There is another skill named {name} here already.") from None
        if _stored(folder, name) is None:
            with suppress(FileNotFoundError):
                os.rename(_aside(name, mark), name, src_dir_fd=folder, dst_dir_fd=folder)
        raise
    os.fsync(folder)


def _write(folder: int, name: str, contents: Mapping[str, bytes]) -> None:
    """Write a folder that nobody looks into yet, and wait until the disk has it."""
    os.mkdir(name, dir_fd=folder)
    top = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for path, data in contents.items():
            _write_file(top, path, data)
        os.fsync(top)
    finally:
        os.close(top)


def _write_file(folder: int, path: str, data: bytes) -> None:
    head, _, rest = path.partition("/")
    if rest:
        below = _entered(folder, head)
        try:
            _write_file(below, rest, data)
            os.fsync(below)
        finally:
            os.close(below)
        return
    mode = 0o777 if path.endswith(".sh") else 0o666
    file = os.open(head, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    with os.fdopen(file, "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
