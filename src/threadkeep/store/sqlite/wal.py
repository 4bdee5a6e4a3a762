"""The write-ahead log beside an SQLite file: looked at before anything is written, and moved into the file later.

SQLite ends a damaged log at the first damaged frame, and the next commit overwrites what lies behind; a log without its
file it throws away. `pair` looks before that. A log that has grown long, or that nobody writes to, is moved into the
file without holding commits up.
"""

import os
import struct
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import apsw

from threadkeep.errors import StoreCorrupt
from threadkeep.store.sqlite_file import SqliteDatabase

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
_MASK = 0xFFFFFFFF
ADVICE = (
    "Nothing was changed. Put back copies of both files that belong together; or, to go on with what is there, run "
    "'threadkeep doctor --set-log-aside'."
)


def check_pair(path: Path) -> None:
    """Refuse a log whose file is missing or empty."""
    log = log_of(path)
    # First the log: whoever makes both just now has written the file before.
    if size_of(log) and not size_of(path):
        raise StoreCorrupt(f"{log} holds changes, but {path} is missing or empty. {ADVICE}")


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
    """Yield number and content of the pages of all commits in a log, of those behind damage too: their checksums are
    not looked at."""
    if not size_of(log):
        return
    with log.open("rb") as file:
        begun = file.read(_HEADER.size)
        if len(begun) < _HEADER.size:
            return
        magic, _, size, _, *salts, one, two = _HEADER.unpack(begun)
        if magic & ~1 != _MAGIC or _sum(begun[:24], ">" if magic & 1 else "<") != (one, two):
            if any(begun) or any(file.read()):
                raise StoreCorrupt(f"{log} is damaged at its beginning. {ADVICE}")
            return
        pending: list[tuple[int, bytes]] = []
        while len(frame := file.read(_FRAME.size + size)) == _FRAME.size + size:
            page, commit, *found = _FRAME.unpack(frame[: _FRAME.size])[:4]
            if found == salts:
                pending.append((page, frame[_FRAME.size :]))
                if commit:
                    yield from pending
                    pending.clear()


def _sum(data: bytes, order: str) -> tuple[int, int]:
    """Return SQLite's checksum of the data."""
    one = two = 0
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two


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
