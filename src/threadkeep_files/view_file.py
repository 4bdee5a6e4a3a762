"""The readable file of one conversation on the disk: replaced as a whole, and only if no other program changed it.

What is no document is moved aside, never written over. What belongs to a deleted conversation is put away with it.
"""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidId
from threadkeep.store import filesystem
from threadkeep.store.filesystem import FileSignature, translating_os_errors
from threadkeep_files.view import parse

T = TypeVar("T")
HIDDEN = ".threadkeep"
_ENDING = ".json"
_SETTLING = 1.0
"""Seconds in which a file that is no JSON may still be in the middle of being written."""


class FoundFile(NamedTuple):
    """A file as it was found, and its signature."""

    data: bytes
    signature: FileSignature


class ViewFile:
    """The file of one conversation."""

    def __init__(self, folder: Path, conversation: str) -> None:
        self.path = folder / f"{conversation}{_ENDING}"
        self._hidden = folder / HIDDEN
        self._draft = self._hidden / f"{self.path.name}.new"
        self._original = self._hidden / self.path.name

    def signature(self) -> FileSignature | None:
        return filesystem.signature(self.path)

    def read(self) -> FoundFile | None:
        """Return the file; one that another program seems to be writing is read again until it is complete."""
        patience = time.monotonic() + _SETTLING
        while (signature := self.signature()) is not None:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return None
            is_old = time.time() - signature.changed / 1e9 > _SETTLING
            if is_old or _is_json(data) or time.monotonic() > patience:
                return FoundFile(data, signature)
            time.sleep(0.05)
        return None

    def write(self, data: bytes, known: FileSignature | None) -> FileSignature | None:
        """Replace the file and return its signature; nothing if it is not the known one: that is taken in first."""
        filesystem.make_folder(self._hidden)
        with self._locked():
            if self.signature() != known:
                return None
            filesystem.write_file(self._draft, data)
            os.replace(self._draft, self.path)
            filesystem.sync_folder(self.path.parent)
            return self.signature()

    def set_aside(self, now: datetime) -> Path:
        """Move a file that cannot be read out of the way, and return where it is."""
        aside = filesystem.unused_name(self.path, "corrupt", now)
        os.rename(self.path, aside)
        filesystem.sync_folder(aside.parent)
        return aside

    def aside(self) -> list[Path]:
        return filesystem.set_aside_files(self.path, "corrupt")

    def keep_original(self, data: bytes, now: datetime) -> None:
        """Keep a copy of a file that holds more than a conversation can."""
        filesystem.make_folder(self._hidden)
        filesystem.write_file(filesystem.unused_name(self._original, "imported", now), data)
        filesystem.sync_folder(self._hidden)

    def put_away(self, into: Path, known: FileSignature | None) -> None:
        """Remove the file of a deleted conversation if it is the known one, and put away what was kept beside it."""
        if known is not None and self.path.parent.is_dir():
            filesystem.make_folder(self._hidden)
            with self._locked():
                if self.signature() == known:
                    self.path.unlink()
                    filesystem.sync_folder(self.path.parent)
        self._draft.unlink(missing_ok=True)
        if found := [*self.aside(), *filesystem.set_aside_files(self._original, "imported")]:
            filesystem.make_folder(into)
            for path in found:
                os.rename(path, into / path.name)
            filesystem.sync_folder(into)

    def put_back(self, away: Path) -> None:
        """Put back what was put away, for a conversation that is restored."""
        if away.is_dir():
            for path in list(away.iterdir()):
                is_public = path.name.startswith(f"{self.path.name}.corrupt-")
                os.rename(path, (self.path.parent if is_public else self._hidden) / path.name)
            away.rmdir()

    def _locked(self) -> AbstractContextManager[None]:
        """Keep other processes from replacing files of this folder."""
        return filesystem.locked(self._hidden / "lock")


async def in_thread(work: Callable[[], T]) -> T:
    """Do work that waits for the disk."""

    def guarded() -> T:
        with translating_os_errors():
            return work()

    return await asyncio.to_thread(guarded)


def files_in(folder: Path) -> dict[str, FileSignature]:
    """Return the files of a folder that are named as views are, by the ids of their conversations."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    ids = (name.removesuffix(_ENDING) for name in sorted(names) if name.endswith(_ENDING))
    found = ((name, filesystem.signature(folder / f"{name}{_ENDING}")) for name in ids if _is_id(name))
    return {name: signature for name, signature in found if signature is not None}


def database_of(root: Path) -> Path:
    """Return the file in which a folder of conversations keeps them."""
    return root / HIDDEN / "threadkeep.db"


def folder_of(root: Path, tenant: str) -> Path:
    """Return the folder of a tenant, which must not look like the file of a conversation."""
    check_id(tenant)
    if tenant == LOCAL.tenant:
        return root
    return root / (f"{tenant}@" if _ENDING in tenant else tenant)


def remove_put_away(away: Path, kept: set[str]) -> None:
    """Remove for good what was put away, but for what has one of these names."""
    if away.is_dir():
        for path in away.iterdir():
            if path.name not in kept:
                shutil.rmtree(path)
        filesystem.sync_folder(away)


def _is_id(name: str) -> bool:
    try:
        check_id(name)
    except InvalidId:
        return False
    return True


def _is_json(data: bytes) -> bool:
    try:
        parse(data)
    except ValueError:
        return False
    return True


logger = logging.getLogger("threadkeep.files.view_file")


@dataclass(frozen=True)
class FileProblem:
    """A file that is not as it should be, and what was done about it."""

    path: Path
    detail: str
    at: datetime


MOST_PROBLEMS = 1000


class FileProblems:
    """The newest problem of each file, of so many files. Safe to be used by several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._found: dict[Path, FileProblem] = {}
        self._lock = Lock()

    def report(self, path: Path, detail: str) -> None:
        """Report a problem, once as long as it stays the same."""
        with self._lock:
            known = self._found.pop(path, None)
            if len(self._found) >= MOST_PROBLEMS:
                self._found.pop(next(iter(self._found)))
            self._found[path] = FileProblem(path, detail, self._clock())
        if known is None or known.detail != detail:
            logger.warning("%s: %s", path, detail)

    def all(self) -> tuple[FileProblem, ...]:
        with self._lock:
            return tuple(self._found.values())
