"""The journal of one conversation on disk: appended to, never rewritten, read on from where it was read before."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from threadkeep.errors import ConversationNotFound, StoreCorrupt, StoreTooNew
from threadkeep.store.files import disk, lines
from threadkeep.store.files.disk import NEVER, Signature
from threadkeep.store.files.lines import START, Chain
from threadkeep.store.record import Record

_BEGINNING = 256


class News(NamedTuple):
    """What was read; `anew` says that it is the whole journal, because it is another one than before."""

    records: list[Record]
    anew: bool


class Journal:
    """A journal and how far it was read. All but `held` and `signature` needs that it is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: Signature | None = NEVER
        self._file = -1
        self._beginning = b""
        self._end = 0
        self._chain = START

    @property
    def end(self) -> str:
        """What stands for everything up to the end: how long it is, and the checksum of its last line."""
        return f"{self._end} {self._chain.crc:08x}"

    @contextmanager
    def held(self, flags: int) -> Iterator[None]:
        """Hold the lock of the journal; `ConversationNotFound` if there is none and none is to be made."""
        try:
            self._file = disk.open_locked(self.path, flags)
        except FileNotFoundError:
            raise ConversationNotFound from None
        try:
            yield
        finally:
            os.close(self._file)
            self._file = -1

    def signature(self) -> Signature | None:
        """Return what tells whether the journal was changed."""
        return disk.signature(self.path)

    def forget(self) -> None:
        """Begin from the beginning the next time."""
        self.seen, self._beginning, self._end, self._chain = NEVER, b"", 0, START

    def read(self) -> News:
        """Return what was written since the last time."""
        try:
            return self._read_on()
        except StoreCorrupt:
            if self._end == 0:
                raise
        # It does not go on where we were: it may be a copy that was put back while we ran.
        self.forget()
        return self._read_on()

    def _read_on(self) -> News:
        found = os.fstat(self._file)
        beginning = os.pread(self._file, _BEGINNING, 0)
        anew = self._end == 0 or found.st_size < self._end or not beginning.startswith(self._beginning)
        if anew:
            self.forget()
            # A process that was killed may have written and not flushed; from now on it is answered.
            os.fsync(self._file)
        records, end, self._chain = self._decode(_read(self._file, self._end, found.st_size))
        self._end += end
        self._beginning = beginning[: self._end]
        self.seen = disk.signature_of(found)
        return News(records, anew)

    def _decode(self, data: bytes) -> tuple[list[Record], int, Chain]:
        try:
            return lines.decode(data, self._chain)
        except lines.DamagedError as error:
            place = self._end + error.start
            raise StoreCorrupt(f"{self.path} is damaged at byte {place} ({error}). It was left as it is.") from error
        except StoreTooNew:
            raise StoreTooNew(
                f"{self.path} was written by a newer release of Threadkeep; upgrade to open it."
            ) from None

    def first(self) -> Record | None:
        """Return the record that tells whose journal this is, also if it is damaged further on."""
        line = _read(self._file, 0, os.fstat(self._file).st_size).partition(b"\n")[0]
        try:
            records, _, _ = lines.decode(line + b"\n")
        except (lines.DamagedError, StoreTooNew):
            return None
        return records[0] if records and records[0].opening else None

    def append(self, records: Sequence[Record]) -> list[Record]:
        """Add records that belong together and return them as they will be read; if this raises, nothing was added."""
        line = lines.encode(records, self._chain)
        written, _, chain = lines.decode(line, self._chain)
        disk.write_all(self._file, line, self._end)
        self._chain = chain
        self._end += len(line)
        if len(self._beginning) < _BEGINNING:
            self._beginning = os.pread(self._file, _BEGINNING, 0)
        self.seen = disk.signature_of(os.fstat(self._file))
        return written

    def holds(self, end: str) -> bool:
        """Whether the journal has what stood at an end that was noted before; a note that was cut off says nothing."""
        length, _, crc = end.partition(" ")
        if not length.isdigit() or len(crc) != 8:
            return True
        kept = _read(self._file, 0, int(length))
        last = kept[kept.rfind(b"\n", 0, -1) + 1 :]
        return len(kept) == int(length) and last[:8] == crc.encode()

    def cut(self, now: datetime) -> Path | None:
        """Set aside what a crash cut off at the end, and return where; none if the journal is whole."""
        torn = _read(self._file, self._end, os.fstat(self._file).st_size)
        if not torn:
            return None
        aside = disk.free_name(self.path, "torn", now)
        disk.write_file(aside, torn)
        disk.sync_folder(aside.parent)
        os.ftruncate(self._file, self._end)
        os.fsync(self._file)
        self.seen = disk.signature_of(os.fstat(self._file))
        return aside


def _read(file: int, start: int, end: int) -> bytes:
    data = bytearray()
    while start + len(data) < end:
        part = os.pread(file, end - start - len(data), start + len(data))
        if not part:
            break
        data += part
    return bytes(data)
