"""Overwriting what SQLite leaves behind of removed rows, although it overwrites the rows themselves (`secure_delete`).

A page that SQLite has rebuilt may keep copies of rows that went to another page, in the room between its cell pointers
and its cells: no statement reads or clears that, so it is overwritten in the file itself, where nobody looks at it and
where a write that is cut off does no harm. The full-text index keeps the beginnings of removed words as separators of
its pages: each is replaced by the next word that is still there.
"""

import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from threadkeep.errors import StoreBusy
from threadkeep.store.sqlite.pair import commit
from threadkeep.store.sqlite.wal import log_of
from threadkeep.store.sqlite_file import SqliteDatabase, connect, translating_sqlite_errors

STEP = 1000
"""How many pages, and how many separators, are looked at while others must not write."""
MOST_PAGES = 1 << 25
"""From this number on, an overflow page, which begins with a page number, may look like a page of a tree."""
_ATTEMPTS = 1000
_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of the pages of a tree, and how long their header is."""
_PREFIX = b"0"
"""What a word of the index begins with in its separators."""


def scrub(path: Path) -> Iterator[None]:
    """Overwrite what was left behind, in steps that hold writers up for a few milliseconds each; the log is emptied."""
    with translating_sqlite_errors(), closing(connect(path)) as database, translating_sqlite_errors(database):
        database.execute("CREATE VIRTUAL TABLE temp.present USING fts5vocab (main, word, row)")
        after: tuple[int, bytes] | None = (-1, b"")
        while after is not None:
            with _writing(database):
                after = _separators(database, after)
            yield
        size, first = database.pragma("page_size"), 1
        while first <= min(database.pragma("page_count"), MOST_PAGES):
            with _alone(path, database) as file:
                _pages(file, size, first)
            first += STEP
            yield


def _separators(database: SqliteDatabase, after: tuple[int, bytes]) -> tuple[int, bytes] | None:
    """Replace separators that begin no present word, in one step; return where it ended, none at the end."""
    rows = database.rows(
        "SELECT segid, term FROM word_idx WHERE (segid, term) > (?, ?) ORDER BY segid, term LIMIT ?", (*after, STEP)
    )
    for segment, term in rows:
        start = bytes(term).removeprefix(_PREFIX)
        # A separator may end within a character, so it stays what it is: bytes.
        found = database.value("SELECT term FROM present WHERE term >= CAST(? AS TEXT) LIMIT 1", (start,))
        if start and found is not None and not found.encode().startswith(start):
            database.execute(
                "UPDATE OR IGNORE word_idx SET term = ? WHERE segid = ? AND term = ?",
                (_PREFIX + found.encode(), segment, term),
            )
    return (rows[-1][0], bytes(rows[-1][1])) if len(rows) == STEP else None


@contextmanager
def _alone(path: Path, database: SqliteDatabase) -> Iterator[apsw.VFSFile]:
    """Yield the file while nobody writes and all that was written is in it. Afterwards nobody trusts a page that was
    read before: a commit tells so."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    for _ in range(_ATTEMPTS):
        try:
            database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            # Another one moves the log just now; for that SQLite does not wait.
            time.sleep(0.01)
            continue
        with _writing(database):
            if log_of(path).stat().st_size == 0:
                # Not `open`: closing that would give back the locks that SQLite holds in this process.
                file = apsw.VFSFile("", str(path.absolute()), [flags, 0])
                try:
                    yield file
                finally:
                    file.xClose()
                    # Of the page that the commit changes, too, no copy from before may be written.
                    database.pragma("shrink_memory")
                return
    raise StoreBusy


@contextmanager
def _writing(database: SqliteDatabase) -> Iterator[None]:
    """Hold the lock of who writes; commit at the end."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        commit(database)
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def _pages(file: apsw.VFSFile, size: int, first: int) -> None:
    start = (first - 1) * size
    data = file.xRead(min(STEP * size, file.xFileSize() - start), start)
    changed = False
    for at in range(0, len(data), size):
        header = at + (100 if start + at == 0 else 0)
        length = _TREE_PAGES.get(data[header])
        if length is None:
            continue
        cells, content = struct.unpack_from(">HH", data, header + 3)
        unused, end = header + length + 2 * cells, at + (content or 65536)
        if unused < end <= at + size and any(data[unused:end]):
            file.xWrite(bytes(end - unused), start + unused)
            changed = True
    if changed:
        file.xSync(apsw.SQLITE_SYNC_NORMAL)
