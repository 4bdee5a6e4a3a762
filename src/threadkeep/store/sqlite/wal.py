"""The write-ahead log beside an SQLite file: looked at before anything is written, and moved into the file later.

SQLite ends a damaged log at the first damaged frame, and the next commit overwrites what lies behind; a log without its
file it throws away. What a power cut tears is the last transaction alone, which nobody was told of: that is no damage.
A log that has grown long, or that nobody writes to, is moved into the file without holding commits up.
"""

import os
import struct
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from threadkeep.errors import StoreCorrupt
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
_MASK = 0xFFFFFFFF
_LOOKS = 3
ADVICE = (
    "Nothing was changed. Put back copies of both files that belong together; or, to go on with what is there, run "
    "'threadkeep doctor --set-log-aside'."
)

Sums = tuple[int, int]


class _Log(NamedTuple):
    """What the beginning of a log says: the size of its pages, the salts of its frames, the order of bytes in sums."""

    page: int
    salts: Sums
    sums: Sums
    order: str


def check_pair(path: Path) -> None:
    """Refuse a log whose file is missing or empty, or whose own beginning is damaged."""
    log = log_of(path)
    # First the log: whoever makes both just now has written the file before.
    if not size_of(log):
        return
    if not size_of(path):
        raise StoreCorrupt(f"{log} holds changes, but {path} is missing or empty. {ADVICE}")
    with log.open("rb") as file:
        begun = file.read(_HEADER.size)
        if len(begun) == _HEADER.size and _parse(begun) is None and (any(begun) or any(file.read())):
            raise StoreCorrupt(f"{log} is damaged at its beginning. {ADVICE}")


def check_end(path: Path, database: SqliteDatabase) -> None:
    """Refuse a log in which something that was acknowledged lies where SQLite would end it, or behind."""
    looks = 0
    while (damaged := _damaged(log_of(path), _frames(database))) is not None:
        looks += 1
        if looks == _LOOKS:
            raise StoreCorrupt(f"{log_of(path)} is damaged at byte {damaged}. {ADVICE}")
        # Another process may have been writing while we looked; real damage stays.
        time.sleep(0.005)


def flush(path: Path) -> None:
    """Have on the disk what a process that was killed may have written and not flushed: from now on it is answered."""
    for file in (log_of(path), path, path.absolute().parent):
        with suppress(FileNotFoundError):
            number = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(number)
            finally:
                os.close(number)


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def frames_of(log: Path) -> Iterator[tuple[int, bytes]]:
    """Return number and content of the pages in a log, up to the last commit. Their checksums are not looked at."""
    if not size_of(log):
        return
    with log.open("rb") as file:
        begun = file.read(_HEADER.size)
        parsed = _parse(begun) if len(begun) == _HEADER.size else None
        if parsed is None:
            return
        pending = []
        while len(frame := file.read(_FRAME.size + parsed.page)) == _FRAME.size + parsed.page:
            page, commit, *salts = _FRAME.unpack(frame[: _FRAME.size])[:4]
            if tuple(salts) != parsed.salts:
                return
            pending.append((page, frame[_FRAME.size :]))
            if commit:
                yield from pending
                pending.clear()


def _frames(database: SqliteDatabase) -> int:
    """Return how many frames SQLite takes for valid."""
    with translating_sqlite_errors(database):
        return max(database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0], 0)


def _parse(begun: bytes) -> _Log | None:
    magic, _, page, _, *salts, one, two = _HEADER.unpack(begun)
    order = ">" if magic & 1 else "<"
    if magic & ~1 != _MAGIC or _sum(begun[:24], (0, 0), order) != (one, two):
        return None
    return _Log(page, (salts[0], salts[1]), (one, two), order)


def _damaged(path: Path, valid: int) -> int | None:
    """Return where damage begins behind the frames that SQLite takes for valid, if it is more than a torn end."""
    if not size_of(path):
        return None
    with path.open("rb") as file:
        begun = file.read(_HEADER.size)
        log = _parse(begun) if len(begun) == _HEADER.size else None
        if log is None:
            return None
        size = _FRAME.size + log.page
        file.seek(_HEADER.size + max(valid - 1, 0) * size)
        sums = _FRAME.unpack(file.read(size)[: _FRAME.size])[4:] if valid else log.sums
        place = file.tell()
        first, ended = None, False
        while len(frame := file.read(size)) == size:
            commit, stored = _FRAME.unpack(frame[: _FRAME.size])[1], _FRAME.unpack(frame[: _FRAME.size])[4:]
            if _is_valid(log, frame, sums):
                if ended:
                    return first
            elif first is None:
                first = place
                if _is_one_bit_off(log, frame, sums):
                    return first
            ended = ended or (first is not None and bool(commit))
            place, sums = place + size, stored
    return None


def _is_valid(log: _Log, frame: bytes, sums: Sums) -> bool:
    _, _, *salts, one, two = _FRAME.unpack(frame[: _FRAME.size])
    return tuple(salts) == log.salts and _sum_frame(log, frame, sums) == (one, two)


def _sum_frame(log: _Log, frame: bytes, sums: Sums) -> Sums:
    return _sum(frame[_FRAME.size :], _sum(frame[:8], sums, log.order), log.order)


def _sum(data: bytes, sums: Sums, order: str) -> Sums:
    """Return SQLite's checksum of the data, continued from another."""
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two


def _is_one_bit_off(log: _Log, frame: bytes, sums: Sums) -> bool:
    """Whether one bit of a frame makes the difference to a valid one: no power cut does that."""
    _, _, *salts, one, two = _FRAME.unpack(frame[: _FRAME.size])
    found = _sum_frame(log, frame, sums)
    salt_bits = sum((salt ^ right).bit_count() for salt, right in zip(salts, log.salts, strict=True))
    if salt_bits or found == (one, two):
        return salt_bits == 1 and found == (one, two)
    if (found[0] ^ one).bit_count() + (found[1] ^ two).bit_count() == 1:
        return True
    missing = ((one - found[0]) & _MASK, (two - found[1]) & _MASK)
    bits = [sign << bit & _MASK for bit in range(32) for sign in (1, -1)]
    # What a change of 1 in the first and in the second word of a pair adds to the sums, from the last pair backwards.
    effects = [(1, 1), (0, 1)]
    for _ in range(len(frame) // 8):
        if any((bit * u & _MASK, bit * v & _MASK) == missing for u, v in effects for bit in bits):
            return True
        effects = [((u + v) & _MASK, (u + 2 * v) & _MASK) for u, v in effects]
    return False


LONG_PAGES = 4000
NEAR_PAGES = 16
"""So few pages before the end of its file, the log is given more room."""
LEAST_ROOM, MOST_ROOM = 64 * 1024, 1024 * 1024
SPARE = 64 * MOST_ROOM
"""The log is given no more room than it needs where the disk has less than this left."""


def start_thread(name: str) -> ThreadPoolExecutor:
    """Return one thread that runs already: later there may be no memory to start it."""
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    thread.submit(int).result()
    return thread


class Checkpoints:
    """The checkpoints of one file. Its writer asks after each commit whether the rest `is_due`."""

    def __init__(self, writer: SqliteDatabase) -> None:
        self._writer = writer
        self._page: int = writer.pragma("page_size")
        self._thread = start_thread("threadkeep-checkpoint")
        self._copying: Future[None] | None = None
        self.pages = 0
        self.copied = 0
        self._next = LONG_PAGES
        self._room = 0
        writer.set_wal_hook(self._note)

    @property
    def is_due(self) -> bool:
        """Whether most is copied, and the writer should copy the rest."""
        return self._copying is not None and self._copying.done()

    def begin(self) -> None:
        """Copy what is there by now, in the thread."""
        if self._copying is None or self._copying.done():
            self._copying = self._thread.submit(self._copy)

    def make_room(self) -> None:
        """Lengthen the file of the log ahead of what is written, if it is nearly full. A commit that lengthens it waits
        for the file system's own journal too, twice as long. Whoever calls is the only writer of all processes."""
        if self.pages + NEAR_PAGES < self._room:
            return
        # Without room there is less speed, and nothing else; what the disk has to say, the commit hears.
        with suppress(OSError), log_of(Path(self._writer.filename)).open("r+b") as file:
            size, disk = file.seek(0, os.SEEK_END), os.fstatvfs(file.fileno())
            frame = _FRAME.size + self._page
            self._room = size // frame
            if size and self.pages + NEAR_PAGES >= self._room and disk.f_bavail * disk.f_frsize > SPARE:
                self._room += file.write(bytes(max(LEAST_ROOM, min(size, MOST_ROOM)))) // frame

    def copy_the_rest(self) -> None:
        """Copy what the thread has left, as far as nobody reads it; another process may be doing so now."""
        self._copying = None
        self._next = self.pages + LONG_PAGES
        with suppress(apsw.BusyError, apsw.LockedError):
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _note(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """Hear after each commit how long the log is."""
        if pages <= self.pages:
            # It began anew; its file may have been cut off.
            self.copied = self._room = 0
        self.pages = pages
        if pages < LONG_PAGES:
            self._next = LONG_PAGES
        elif pages >= self._next and self._copying is None:
            self.begin()
        return apsw.SQLITE_OK

    def _copy(self) -> None:
        """Copy what is there by now. What goes wrong comes again when the writer copies, and is told then."""
        with suppress(apsw.Error):
            connection = SqliteDatabase(self._writer.filename, flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                # A connection that has read nothing does not know of the log.
                connection.pragma("user_version")
                _, self.copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            finally:
                connection.close()
