"""Taking conversations out of the log in SQLite: hidden first, restored for a while, then removed step by step.

The functions of `Remover` run inside a transaction of the writer: all or nothing. A deleted conversation has lost its
id, by which everybody looks for it, and keeps all its rows until it is purged.

`scrub` overwrites what SQLite leaves behind of removed rows, although it overwrites these (`secure_delete`). A page
that SQLite has rebuilt may keep copies of rows that went to another page, in the room between its cell pointers and its
cells: no statement reads or clears that, so it is overwritten in the file itself, where nobody looks at it and where a
write that is cut off does no harm. The full-text index keeps the beginnings of removed words as separators of its
pages: each is replaced by the next word that is still there.
"""

import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, ConversationNotFound, StoreBusy
from threadkeep.store.audit import AuditRow
from threadkeep.store.caps import Caps, Load
from threadkeep.store.codec import encode_id, microseconds
from threadkeep.store.rules import check_entries
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.audit import add_act
from threadkeep.store.sqlite.files import DELETED
from threadkeep.store.sqlite.log import ConversationKey
from threadkeep.store.sqlite.pair import commit
from threadkeep.store.sqlite.wal import log_of
from threadkeep.store.sqlite.writing import HERE, LogWriter
from threadkeep.store.sqlite_file import SqliteDatabase, connect, translating_sqlite_errors

STEP = 200
"""How many entries, and how many keys, one step of a purge removes."""
_EMPTIED = "purged"


class Remover:
    """Hides, restores and removes what a `LogWriter` wrote."""

    def __init__(self, log: LogWriter) -> None:
        self._log = log
        self._reader = log.reader
        self._db = log.db
        self._clock = log.clock

    def hide(self, scope: Scope, conversation: str, expected_entries: int | None, act: AuditRow) -> None:
        """Take the id away."""
        log = self._reader.log(scope, conversation)
        check_entries(log.tip, expected_entries)
        self._db.execute(
            "UPDATE conversation SET id = NULL, deleted_id = id, deleted_at = ? WHERE key = ?",
            (microseconds(self._clock()), log.key.conversation),
        )
        # Files that no other conversation uses are missing from now on.
        self._db.execute(
            f"UPDATE file SET touched_at = {DELETED} WHERE id IN (SELECT file FROM file_use {HERE}) AND NOT EXISTS ("
            "SELECT 1 FROM file_use u JOIN conversation c ON c.key = u.conversation "
            "WHERE u.file = file.id AND c.id IS NOT NULL)",
            log.key[:2],
        )
        add_act(self._db, scope.tenant, act)
        self._log.forget_end(scope, conversation)

    def restore(self, scope: Scope, conversation: str, act: AuditRow, caps: Caps | None) -> Conversation:
        """Give the id back, within caps if there are any."""
        check_id(conversation)
        keys, id = self._reader.scope(scope) or (0, 0), encode_id(conversation)
        found = self._db.row(
            "SELECT key, version, bytes FROM conversation WHERE tenant = ? AND deleted_id = ? AND user = ? "
            "ORDER BY key DESC LIMIT 1",
            (keys[0], id, keys[1]),
        )
        if found is None:
            raise ConversationNotFound
        if self._db.value("SELECT 1 FROM conversation WHERE tenant = ? AND id = ?", (keys[0], id)):
            raise AlreadyExists
        if caps is not None:
            self._log.check_room(scope, caps, Load(1, found[2]))
        self._db.execute(
            "UPDATE conversation SET id = deleted_id, deleted_id = NULL, deleted_at = NULL WHERE key = ?", found[:1]
        )
        self._db.execute(
            f"UPDATE file SET touched_at = ? WHERE touched_at = {DELETED} AND id IN (SELECT file FROM file_use {HERE})",
            (microseconds(self._clock()), keys[0], found[0]),
        )
        add_act(self._db, scope.tenant, act)
        self._log.forget()
        key = ConversationKey(keys[0], found[0], conversation, found[1])
        return self._reader.log_at(scope, key).conversation

    def purge(self, moment: datetime, owner: Scope | None = None) -> bool:
        """Take one step: remove a part of what was deleted first, up to that moment; return whether more may be left.

        A row without content stays until all that was left behind is overwritten: so nobody forgets to do that.
        """
        keys = (None, None) if owner is None else self._reader.scope(owner) or (0, 0)
        found = self._db.row(
            f"SELECT tenant, key FROM conversation WHERE deleted_at <= ?1 AND facts <> '{_EMPTIED}' "
            "AND (?2 IS NULL OR (tenant, user) = (?2, ?3)) ORDER BY deleted_at LIMIT 1",
            (microseconds(moment), *keys),
        )
        if found is None:
            if owner is not None:
                self._forget_name(*keys)
            return False
        if self._remove_entries(found) or self._remove_keys(found):
            self._db.execute("UPDATE conversation SET deleted_id = NULL WHERE key = ?", found[1:])
            return True
        for table in ("jump", "turn", "draft", "chunk", "title_word", "file_use"):
            self._db.execute(f"DELETE FROM {table} {HERE}", found)
        self._db.execute(
            f"UPDATE conversation SET deleted_id = NULL, facts = '{_EMPTIED}', large = NULL WHERE key = ?", found[1:]
        )
        self._forget_name(*self._db.row("SELECT tenant, user FROM conversation WHERE key = ?", found[1:]))
        return True

    def _forget_name(self, tenant: int | None, user: int | None) -> None:
        """Put a pseudonym in the place of a name of whom nothing is left. Who comes back has the same key again, which
        others may remember."""
        name = self._db.value("SELECT name FROM user WHERE key = ?", (user,))
        if (
            name is None
            or name.startswith("~")
            or self._db.value(
                "SELECT 1 FROM conversation WHERE tenant = ?1 AND user = ?2 AND id IS NOT NULL UNION ALL "
                f"SELECT 1 FROM conversation WHERE deleted_at >= 0 AND facts <> '{_EMPTIED}' AND user = ?2 LIMIT 1",
                (tenant, user),
            )
        ):
            return
        self._db.execute("UPDATE user SET name = ? WHERE key = ?", (self._reader.pseudonym(tenant, name), user))
        self._log.forget()

    def emptied(self) -> list[tuple[int]]:
        """Return the conversations of which nothing is left but a row."""
        return self._db.rows(f"SELECT key FROM conversation WHERE deleted_at >= 0 AND facts = '{_EMPTIED}'")

    def remove_emptied(self, keys: Sequence[tuple[int]]) -> int:
        """Remove the rows; return how many nobody else has removed."""
        before = self._db.total_changes()
        self._db.executemany("DELETE FROM conversation WHERE key = ?", keys)
        return self._db.total_changes() - before

    def _remove_entries(self, here: tuple[int, int]) -> bool:
        """Remove the first entries, their words and jumps; return whether more may be left."""
        rows = self._db.rows(f"SELECT position, seq FROM entry {HERE} ORDER BY seq LIMIT {STEP}", here)
        positions = [row[:1] for row in rows]
        user = self._db.value("SELECT user FROM conversation WHERE key = ?", here[1:])
        index.remove(self._reader, user, here, (position for (position,) in positions))
        self._db.executemany("DELETE FROM entry WHERE position = ?", positions)
        if rows:
            self._db.execute(f"DELETE FROM jump {HERE} AND first <= ?", (*here, rows[-1][1]))
        # Positions at the end of the table are given again, and must be indexed again then.
        self._db.execute(
            "UPDATE caught_up SET position = min(position, (SELECT coalesce(max(position), 0) FROM entry))"
        )
        return len(rows) == STEP

    def _remove_keys(self, here: tuple[int, int]) -> bool:
        """Remove some idempotency keys; return whether more may be left."""
        rows = self._db.rows(f"SELECT tenant, name FROM key {HERE} LIMIT {STEP}", here)
        self._db.executemany("DELETE FROM key WHERE tenant = ? AND name = ?", rows)
        return len(rows) == STEP


SCRUBBED = 1000
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
            first += SCRUBBED
            yield


def _separators(database: SqliteDatabase, after: tuple[int, bytes]) -> tuple[int, bytes] | None:
    """Replace separators that begin no present word, in one step; return where it ended, none at the end."""
    rows = database.rows(
        "SELECT segid, term FROM word_idx WHERE (segid, term) > (?, ?) ORDER BY segid, term LIMIT ?", (*after, SCRUBBED)
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
    return (rows[-1][0], bytes(rows[-1][1])) if len(rows) == SCRUBBED else None


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
    data = file.xRead(min(SCRUBBED * size, file.xFileSize() - start), start)
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
