"""Whether a file and the log beside it belong together, and whether the log is still all there.

SQLite replays whatever log it finds. So every commit of ours replaces the mark, a row with a random token and the token
of the commit before: the mark that the file itself holds must be one of those in the log, or the one before the first.
A third file, `-mark`, says up to which commit the log went that continued a file with such a mark, so that a log which
is cut, damaged at its end or missing is noticed. Once the log was moved into the file, the mark there is another, and
the note is void.
"""

import logging
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import apsw

from threadkeep.errors import StoreCorrupt
from threadkeep.store.sqlite.wal import ADVICE, frames_of, log_of
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

logger = logging.getLogger(__name__)

_MARK = struct.Struct(">8s16sQ8s8s")
_BEGINNING = b"tk-mark:"
_ROOT = "SELECT rootpage FROM sqlite_schema WHERE name = 'log_mark'"
_VALUE = "SELECT value FROM log_mark"


class Mark(NamedTuple):
    """What one commit left: of which store, the how manyth, after which other."""

    beginning: bytes
    store: bytes
    number: int
    before: bytes
    token: bytes

    @classmethod
    def of(cls, found: bytes | None) -> Self | None:
        """Return the mark in these bytes, if it is one."""
        mark = cls._make(_MARK.unpack(found)) if found is not None and len(found) == _MARK.size else None
        return mark if mark is not None and mark.beginning == _BEGINNING else None

    @classmethod
    def on(cls, page: bytes) -> Self | None:
        """Return the mark on its page."""
        return cls.of(page[at : at + _MARK.size]) if (at := page.rfind(_BEGINNING)) >= 0 else None


class Pair:
    """The file and the log of one connection that writes."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._path = Path(database.filename)
        self._file = _open_raw(self._path)
        self._place: int | None = None
        self._newest = Mark(_BEGINNING, b"", 0, b"", b"")
        self._noted = b""
        self._note: int | None = None

    def advance(self) -> None:
        """Replace the mark, in the transaction of a commit."""
        old = Mark._make(_MARK.unpack(self._database.value(_VALUE)))
        self._newest = old._replace(number=old.number + 1, before=old.token, token=os.urandom(8))
        self._database.execute("UPDATE log_mark SET value = ?", (_MARK.pack(*self._newest),))

    def note(self) -> None:
        """Note that there was a commit, before anybody hears of it."""
        mark = self._mark()
        if mark is None or mark.token == self._newest.token:
            return
        # The commit is durable by now: a disk that takes no note does not undo it, and the next commit tries again.
        with suppress(OSError):
            self._write_note(mark._replace(number=self._newest.number), flush=mark.token != self._noted)
            self._noted = mark.token

    def close(self) -> None:
        self._file.xClose()
        self._close_note()

    def _write_note(self, mark: Mark, *, flush: bool) -> None:
        if self._note is None or not os.fstat(self._note).st_nlink:
            # Opened once, as long as nobody takes it away: it is written in every commit.
            self._close_note()
            self._note = os.open(_note_of(self._path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            flush = True
        os.pwrite(self._note, _MARK.pack(*mark), 0)
        if flush:
            os.fsync(self._note)

    def _close_note(self) -> None:
        if self._note is not None:
            os.close(self._note)
            self._note = None

    def _mark(self) -> Mark | None:
        """Return the mark in the file itself; where it is does not change unless somebody rebuilds the file."""
        if self._place is not None and (mark := Mark.of(self._file.xRead(_MARK.size, self._place))) is not None:
            return mark
        start, page = _page_of_mark(self._file, self._database)
        self._place = start + at if (at := page.rfind(_BEGINNING)) >= 0 else None
        return Mark.on(page)


def commit(database: SqliteDatabase) -> None:
    """Commit the open transaction of a connection that seldom writes."""
    pair = Pair(database)
    try:
        pair.advance()
        database.execute("COMMIT")
        pair.note()
    finally:
        pair.close()


def make_tables(database: SqliteDatabase, newest: str, sql: str) -> None:
    """Make the tables that one kind of store needs beside the others, unless the `newest` of them is there."""
    with translating_sqlite_errors(database):
        if database.value("SELECT 1 FROM sqlite_schema WHERE name = ?", (newest,)):
            return
        database.execute("BEGIN IMMEDIATE")
        try:
            database.execute(sql)
            commit(database)
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")


def check_belonging(path: Path, database: SqliteDatabase) -> None:
    """Refuse a log that is damaged or does not continue this file, and a file whose log is missing or cut. The
    connection has only been opened; nobody writes while we look, and nothing is written."""
    with translating_sqlite_errors(database):
        database.execute("BEGIN IMMEDIATE")
        try:
            file = _open_raw(path)
            try:
                _check(path, database, file)
            finally:
                file.xClose()
        finally:
            database.execute("ROLLBACK")


def forget_note(path: Path) -> None:
    """Go on with what is there, whatever is missing."""
    _note_of(path).unlink(missing_ok=True)


def _check(path: Path, database: SqliteDatabase, file: apsw.VFSFile) -> None:
    log, root, mark = log_of(path), database.value(_ROOT), Mark.on(_page_of_mark(file, database)[1])
    marks, pages = list[Mark](), set[int]()
    for number, content in frames_of(log):
        pages.add(number)
        if number == root and (found := Mark.on(content)) is not None:
            marks.append(found)
    if pages and not marks:
        raise StoreCorrupt(f"{log} was written by another program or beside another file than {path}. {ADVICE}")
    if marks and (mark is None or mark.token not in {marks[0].before, *(each.token for each in marks)}):
        raise StoreCorrupt(f"{log} {_relation(mark, marks)} {path}. {ADVICE}")
    size = file.xFileSize() // database.pragma("page_size")
    if pages and not pages.issuperset(range(size + 1, database.pragma("page_count") + 1)):
        raise StoreCorrupt(f"{path} is cut. {ADVICE}")
    newest = None if root is None else Mark.of(database.value(_VALUE))
    if mark is None or newest is None:
        return
    # What a power cut tears is the last commit alone, which nobody was told of.
    if any(each.number > newest.number + 1 for each in marks):
        raise StoreCorrupt(f"{log} is damaged. {ADVICE}")
    _check_note(path, mark, newest)


def _check_note(path: Path, mark: Mark, newest: Mark) -> None:
    """Refuse a log that has lost commits since the file had this mark; warn of an older copy of both."""
    note = _read_note(path)
    if note is None or note.store != mark.store or note.number <= newest.number:
        return
    missing = note.number - newest.number
    if note.token == mark.token:
        raise StoreCorrupt(f"{log_of(path)} is missing, cut or older: the last {missing} commits are gone. {ADVICE}")
    logger.warning("%s is an older copy: at least %d commits that were made here are not in it.", path, missing)


def _relation(mark: Mark | None, marks: list[Mark]) -> str:
    if mark is None or mark.store != marks[0].store:
        return "is the log of another store than"
    return "is older than" if marks[-1].number < mark.number else "is newer than"


def _open_raw(path: Path) -> apsw.VFSFile:
    """Open the file beside SQLite. Not `open`: closing that would give back the locks that SQLite holds."""
    return apsw.VFSFile("", str(path.absolute()), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])


def _page_of_mark(file: apsw.VFSFile, database: SqliteDatabase) -> tuple[int, bytes]:
    """Return where in the file itself the page of the mark begins, and what it holds, whatever the log says."""
    page, size = database.value(_ROOT), database.pragma("page_size")
    start = ((page or 1) - 1) * size
    return start, file.xRead(size, start) if page is not None and start + size <= file.xFileSize() else b""


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-mark")


def _read_note(path: Path) -> Mark | None:
    """Return the mark of the file that is spoken of, with the number of the last commit after it."""
    try:
        return Mark._make(_MARK.unpack(_note_of(path).read_bytes()))
    except (OSError, struct.error):
        return None
