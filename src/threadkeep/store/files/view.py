"""The file of a view: read when another program has changed it, replaced as a whole, never written over unseen."""

import os
import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from threadkeep.store.files import disk
from threadkeep.store.files.disk import NEVER, Signature
from threadkeep.store.files.document import parse

_SETTLING = 1.0
"""Seconds in which a file that is no JSON may still be in the middle of being written."""


class Found(NamedTuple):
    """A view as it was found, and its signature."""

    data: bytes
    signature: Signature


class View:
    """The view of one conversation, and which state of it we know."""

    def __init__(self, path: Path, hidden: Path) -> None:
        self.path = path
        self.seen: Signature | None = NEVER
        self._draft = hidden / f"{path.name}.new"
        self._original = hidden / path.name

    def signature(self) -> Signature | None:
        """Return what tells whether the file was changed."""
        return disk.signature(self.path)

    def read(self) -> Found | None:
        """Return the file; one that another program seems to be writing is read again until it is complete."""
        patience = time.monotonic() + _SETTLING
        while (signature := self.signature()) is not None:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return None
            is_old = time.time() - signature.changed / 1e9 > _SETTLING
            if is_old or _is_json(data) or time.monotonic() > patience:
                return Found(data, signature)
            time.sleep(0.05)
        return None

    def write(self, data: bytes) -> None:
        """Replace the file, unless another program was there since we looked: that is imported at the next look."""
        disk.write_file(self._draft, data)
        if self.signature() == self.seen:
            os.replace(self._draft, self.path)
            disk.sync_folder(self.path.parent)
            self.seen = self.signature()

    def set_aside(self, now: datetime) -> Path:
        """Move a file that cannot be read out of the way, and return where it is."""
        aside = disk.free_name(self.path, "corrupt", now)
        os.rename(self.path, aside)
        disk.sync_folder(aside.parent)
        self.seen = None
        return aside

    def aside(self) -> list[Path]:
        """Return the files that were set aside."""
        return disk.beside(self.path, "corrupt")

    def keep_original(self, data: bytes, now: datetime) -> None:
        """Keep a copy of a file that holds more than a conversation can."""
        disk.write_file(disk.free_name(self._original, "imported", now), data)
        disk.sync_folder(self._original.parent)

    def files(self) -> list[Path]:
        """Return the file, its copies and what was set aside, as far as they are there."""
        copies = disk.beside(self._original, "imported")
        return [path for path in (self.path, self._draft, *self.aside(), *copies) if path.is_file()]


def _is_json(data: bytes) -> bool:
    try:
        parse(data)
    except ValueError:
        return False
    return True
