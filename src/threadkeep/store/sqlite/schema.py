"""The schema of the SQLite file: what `schema.sql` makes and what the numbered migrations of later releases change,
applied on open under the write lock; and the checksums of its rows.

One flipped bit on the disk must not be served as what was stored. A row's checksum is kept in its column `crc` and
covers every column that is not derived, the keys included. What is read is checked where it becomes a value. A checksum
that is missing does not fit either: damage can do that, too.
"""

import marshal
from collections.abc import Iterable
from importlib.resources import files
from typing import Any
from zlib import crc32

from threadkeep.errors import StoreCorrupt, StoreTooNew, StoreTooOld
from threadkeep.store.sqlite.pair import commit
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

APPLICATION = 0x746B6570
"""Marks the file as ours ("tkep")."""
DEVELOPMENT = 0x7468726B
"""What versions before the first release wrote in this place."""
_FOLDER = files("threadkeep.store.sqlite")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration in order; the first makes the tables."""
    later = _FOLDER.joinpath("migrations")
    found = sorted(later.iterdir(), key=lambda file: file.name) if later.is_dir() else []
    named = [(file.name, file.read_text(encoding="utf-8")) for file in [_FOLDER.joinpath("schema.sql"), *found]]
    return [(number, name, sql) for number, (name, sql) in enumerate(named, 1)]


def pending(connection: SqliteDatabase) -> list[str]:
    """Return the names of the migrations that are missing. The file is only looked at."""
    return [name for _, name, _ in _missing(connection, migrations())]


def make(connection: SqliteDatabase) -> None:
    """Make all tables in an empty database in memory."""
    register(connection)
    _apply(connection, migrations())


def apply(connection: SqliteDatabase) -> list[str]:
    """Apply what is missing, one starter at a time; refuse a file of a newer release or of another program."""
    known = migrations()
    register(connection)
    with translating_sqlite_errors(connection):
        if connection.pragma("user_version") == known[-1][0] and connection.pragma("application_id") == APPLICATION:
            return []
        connection.execute("BEGIN IMMEDIATE")
        try:
            applied = _apply(connection, known)
            commit(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return applied


def _apply(connection: SqliteDatabase, known: list[tuple[int, str, str]]) -> list[str]:
    missing = _missing(connection, known)
    for number, _, sql in missing:
        connection.execute(sql)
        connection.pragma("user_version", number)
    connection.pragma("application_id", APPLICATION)
    return [name for _, name, _ in missing]


def _missing(connection: SqliteDatabase, known: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    version = connection.pragma("user_version")
    application = connection.pragma("application_id")
    tables = connection.value("SELECT count(*) FROM sqlite_schema")
    if application == DEVELOPMENT:
        raise StoreTooOld
    if application != APPLICATION and (application or version or tables):
        raise StoreCorrupt("This SQLite file belongs to another program.")
    if version > known[-1][0]:
        raise StoreTooNew
    return known[version:]


ENTRY = "seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts"
CONVERSATION = "key, tenant, user, coalesce(id, deleted_id), version, created_at, facts"
"""What lists read; what may be large has a checksum of its own, with the key."""

_FORMAT = 2
"""The bytes of `marshal` for numbers, bytes and text, the same since Python 2.5: nothing else is as fast."""
_SIGN = 1 << 31


def checksum(*columns: Any) -> int:
    """Return the checksum of the columns of a row, as a number that SQLite keeps in four bytes. That of an entry is of
    the keys of tenant and conversation and the columns in `ENTRY`."""
    return (crc32(marshal.dumps(columns, _FORMAT)) ^ _SIGN) - _SIGN


def damaged(keys: tuple[int, int], rows: Iterable[tuple[Any, ...]]) -> Any:
    """Return the first of some entries, each with its checksum behind it, that is not as it was stored."""
    seal, write = crc32, marshal.dumps
    return next((row for row in rows if (seal(write(keys + row[:-1], _FORMAT)) ^ _SIGN) - _SIGN != row[-1]), None)


def register(database: SqliteDatabase) -> None:
    """Let SQL on this connection compute checksums."""
    database.create_scalar_function("checksum", checksum, deterministic=True)
