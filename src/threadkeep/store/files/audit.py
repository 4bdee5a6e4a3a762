"""The audit log of a tenant in a file beside its journals: a JSON list on each line, appended to and flushed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadkeep.errors import StoreCorrupt
from threadkeep.store import filesystem
from threadkeep.store.audit import Row
from threadkeep.store.filesystem import Signature
from threadkeep.store.ledger.audit import Rows


class AuditFile(Rows):
    """The rows in `audit.log`, and how far it was read. A last line without an end was never acknowledged."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = folder / "audit.log"
        self._file = -1
        self._seen: Signature | None = None
        self._end = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        filesystem.make_folder(self._path.parent)
        is_new = not self._path.exists()
        with filesystem.locked(self._path, os.O_RDWR | os.O_CREAT) as self._file:
            if is_new:
                filesystem.sync_folder(self._path.parent)
            self._read_on(self._file)
            yield

    def refresh(self) -> None:
        if filesystem.signature(self._path) not in (None, self._seen):
            with filesystem.locked(self._path, os.O_RDONLY) as file:
                self._read_on(file)

    def add(self, row: Row) -> None:
        line = _line(row)
        os.ftruncate(self._file, self._end)
        filesystem.write_all(self._file, line, self._end)
        self._end += len(line)
        self.rows.append(row)
        self._seen = filesystem.signature_of(os.fstat(self._file))

    def replace(self, rows: list[Row]) -> None:
        draft = self._path.with_suffix(".new")
        filesystem.write_file(draft, b"".join(map(_line, rows)))
        os.replace(draft, self._path)
        filesystem.sync_folder(self._path.parent)
        self._seen = None

    def _read_on(self, file: int) -> None:
        found = filesystem.signature_of(os.fstat(file))
        if found == self._seen:
            return
        if self._seen is None or found.inode != self._seen.inode or found.size < self._end:
            self.rows, self._end = [], 0
        with open(os.dup(file), "rb") as source:
            source.seek(self._end)
            data = source.read()
        rows = list(self.rows)
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines(keepends=True):
            rows.append(self._row(line, len(rows) + 1))
        self.rows, self._end, self._seen = rows, self._end + len(whole), found

    def _row(self, line: bytes, number: int) -> Row:
        try:
            row = Row(*json.loads(line))
        except (ValueError, TypeError) as error:
            raise StoreCorrupt(f"{self._path} is damaged in line {number}. It was left as it is.") from error
        if _line(row) != line:
            raise StoreCorrupt(f"{self._path} is damaged in line {number}. It was left as it is.")
        return row


def _line(row: Row) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"
