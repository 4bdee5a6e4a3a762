"""The journal of one conversation on disk: appended to, never rewritten, read on from where it was read before.

A line is eight hexadecimal digits (CRC-32 of the rest, continued from the line before), a space, and a JSON list of
records that belong together. So no line can be lost, doubled or moved without being noticed. The first record names
the format; in the first format, lines were not chained. A line that was cut off by a crash was never acknowledged; any
other damage is an error.
"""

import json
import os
from binascii import crc32
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from threadkeep.conversation.entry import Body, Update
from threadkeep.conversation.message import Message
from threadkeep.errors import ConversationNotFound, InvalidInput, StoreCorrupt, StoreTooNew
from threadkeep.store import filesystem
from threadkeep.store.filesystem import NEVER, Signature
from threadkeep.store.record import Record

FORMAT, IMPORTING = 2, 3
"""The format of journals, and the format of records of an import, which earlier releases cannot read."""


class Chain(NamedTuple):
    """Where the lines have come to: the checksum of the last one, and whether lines are chained by now."""

    crc: int = 0
    begun: bool = False


START = Chain()


class DamagedError(Exception):
    """A line that is complete but not as it was written, and where it begins."""

    def __init__(self, start: int, reason: str) -> None:
        super().__init__(reason)
        self.start = start


def encode(records: Sequence[Record], chain: Chain = START) -> bytes:
    """Return the line for records that are kept together."""
    payload = json.dumps([_dump(record) for record in records], ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %b\n" % (crc32(payload, chain.crc), payload)


def _dump(record: Record) -> dict[str, Any]:
    fields = record.model_dump(mode="json", exclude={"bodies"}, exclude_defaults=True)
    if record.opening is not None:
        fields = {"format": FORMAT, **fields}
    elif record.imported is not None:
        fields = {"format": IMPORTING, **fields}
    if record.bodies:
        fields["bodies"] = [_dump_body(body) for body in record.bodies]
    return fields


def _dump_body(body: Body) -> dict[str, Any]:
    """Return a body as JSON; of a message, which has many fields, only what is there."""
    if isinstance(body, Update):
        return {**body.model_dump(mode="json", exclude_unset=True), "kind": body.kind}
    fields = body.model_dump(mode="json")
    if isinstance(body, Message):
        return {name: value for name, value in fields.items() if value not in (None, "", [])}
    return fields


def decode(data: bytes, chain: Chain = START) -> tuple[list[Record], int, Chain]:
    """Return the records in these lines, where the part begins that a crash cut off (the end if nothing was), and where
    the chain has come to."""
    records: list[Record] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1
        line = data[start:end]
        # What a crash leaves has no end, or pages that were never written; a complete line of text was acknowledged.
        if not end or (end == len(data) and b"\0" in line):
            break
        chain = _follow(line, start, chain)
        fields = _fields(line, start)
        if fields and fields[0].get("format", 0) > 1:
            chain = chain._replace(begun=True)
        records += _records(fields, start)
        start = end
    return records, start, chain


def _follow(line: bytes, start: int, chain: Chain) -> Chain:
    """Return the chain with one more line; refuse one that does not continue it."""
    payload = line[9:-1]
    if line[:9] == b"%08x " % (crc := crc32(payload, chain.crc)):
        return Chain(crc, chain.begun or start > 0 or chain.crc != 0)
    if chain.begun or line[:9] != b"%08x " % (crc := crc32(payload)):
        raise DamagedError(start, "its checksum does not fit")
    return Chain(crc)


def _fields(line: bytes, start: int) -> list[dict[str, Any]]:
    try:
        found = json.loads(line[9:-1])
    except ValueError as error:
        raise DamagedError(start, str(error)) from error
    if not isinstance(found, list) or not all(isinstance(fields, dict) for fields in found):
        raise DamagedError(start, "it is no list of records")
    return found


def _records(found: list[dict[str, Any]], start: int) -> list[Record]:
    try:
        return [_record(fields) for fields in found]
    except (ValueError, TypeError, AttributeError, ValidationError, InvalidInput) as error:
        raise DamagedError(start, str(error)) from error


def _record(fields: dict[str, Any]) -> Record:
    if fields.pop("format", FORMAT) > (IMPORTING if "imported" in fields else FORMAT):
        raise StoreTooNew
    return Record.model_validate(fields)


_BEGINNING = 256


class NewRecords(NamedTuple):
    """What was read; `anew` is whether it is the whole journal, because it is not the one that was read before."""

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
        """A text that identifies everything up to the end: its length, and the checksum of its last line."""
        return f"{self._end} {self._chain.crc:08x}"

    @contextmanager
    def locked(self, flags: int) -> Iterator[None]:
        """Hold the lock of the journal; `ConversationNotFound` if there is none and none is to be made."""
        try:
            self._file = filesystem.open_locked(self.path, flags)
        except FileNotFoundError:
            raise ConversationNotFound from None
        try:
            yield
        finally:
            os.close(self._file)
            self._file = -1

    def signature(self) -> Signature | None:
        return filesystem.signature(self.path)

    def forget(self) -> None:
        """Begin from the beginning the next time."""
        self.seen, self._beginning, self._end, self._chain = NEVER, b"", 0, START

    def read(self) -> NewRecords:
        """Return what was written since the last time."""
        try:
            return self._read_on()
        except StoreCorrupt:
            if self._end == 0:
                raise
        # It does not go on where we were: it may be a copy that was put back while we ran.
        self.forget()
        return self._read_on()

    def _read_on(self) -> NewRecords:
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
        self.seen = filesystem.signature_of(found)
        return NewRecords(records, anew)

    def _decode(self, data: bytes) -> tuple[list[Record], int, Chain]:
        try:
            return decode(data, self._chain)
        except DamagedError as error:
            place = self._end + error.start
            raise StoreCorrupt(f"{self.path} is damaged at byte {place} ({error}). It was left as it is.") from error
        except StoreTooNew:
            raise StoreTooNew(
                f"{self.path} was written by a newer release of Threadkeep; upgrade to open it."
            ) from None

    def opening(self) -> Record | None:
        """Return the record that tells whose journal this is, also if it is damaged further on."""
        line = _read(self._file, 0, os.fstat(self._file).st_size).partition(b"\n")[0]
        try:
            records, _, _ = decode(line + b"\n")
        except (DamagedError, StoreTooNew):
            return None
        return records[0] if records and records[0].opening else None

    def append(self, records: Sequence[Record]) -> list[Record]:
        """Add records that belong together and return them as they will be read; if this raises, nothing was added."""
        line = encode(records, self._chain)
        written, _, chain = decode(line, self._chain)
        filesystem.write_all(self._file, line, self._end)
        self._chain = chain
        self._end += len(line)
        if len(self._beginning) < _BEGINNING:
            self._beginning = os.pread(self._file, _BEGINNING, 0)
        self.seen = filesystem.signature_of(os.fstat(self._file))
        return written

    def holds(self, end: str) -> bool:
        """Whether the journal still contains an end that was noted before; False for an incomplete note."""
        length, _, crc = end.partition(" ")
        if not length.isdigit() or len(crc) != 8:
            return True
        kept = _read(self._file, 0, int(length))
        last = kept[kept.rfind(b"\n", 0, -1) + 1 :]
        return len(kept) == int(length) and last[:8] == crc.encode()

    def cut_torn_end(self, now: datetime) -> Path | None:
        """Set aside what a crash cut off at the end, and return where; none if the journal is whole."""
        torn = _read(self._file, self._end, os.fstat(self._file).st_size)
        if not torn:
            return None
        aside = filesystem.unused_name(self.path, "torn", now)
        filesystem.write_file(aside, torn)
        filesystem.sync_folder(aside.parent)
        os.ftruncate(self._file, self._end)
        os.fsync(self._file)
        self.seen = filesystem.signature_of(os.fstat(self._file))
        return aside


def _read(file: int, start: int, end: int) -> bytes:
    data = bytearray()
    while start + len(data) < end:
        part = os.pread(file, end - start - len(data), start + len(data))
        if not part:
            break
        data += part
    return bytes(data)
