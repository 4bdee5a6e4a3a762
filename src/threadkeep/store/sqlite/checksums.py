"""Checksums of rows: one flipped bit on the disk must not be served as what was stored.

A row's checksum is kept in its column `crc` and covers every column that is not derived, the keys included. What is
read is checked where it becomes a value. A checksum that is missing does not fit either: damage can do that, too.
"""

import marshal
from typing import Any
from zlib import crc32

from threadkeep.store.sqlite_file import SqliteDatabase

ENTRY = "seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts"
CONVERSATION = "key, tenant, user, coalesce(id, deleted_id), version, created_at, facts"
"""What lists read; what may be large has a checksum of its own, with the key."""


_FORMAT = 2
"""The bytes of `marshal` for numbers, bytes and text, the same since Python 2.5: nothing else is as fast."""
_SIGN = 1 << 31


def checksum(*columns: Any) -> int:
    """Return the checksum of the columns of a row, as a number that SQLite keeps in four bytes. That of an entry is of
    the keys of tenant and conversation and the columns in `ENTRY`."""
    crc = crc32(marshal.dumps(columns, _FORMAT))
    return crc - ((crc & _SIGN) << 1)


def register(database: SqliteDatabase) -> None:
    """Let SQL on this connection compute checksums."""
    database.create_scalar_function("checksum", checksum, deterministic=True)
