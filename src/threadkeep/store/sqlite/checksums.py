"""Checksums of rows: one flipped bit on the disk must not be served as what was stored.

A row's checksum is kept in its column `crc` and covers every column that is not derived, the keys included. What is
read is checked where it becomes a value. A checksum that is missing does not fit either: damage can do that, too.
"""

import struct
from typing import Any
from zlib import crc32

from threadkeep.store.sqlite_file import SqliteDatabase

_pack = struct.Struct("<12q").pack
_SIGN = 1 << 31
_NONE_FITS = 1 << 40

ENTRY = "seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts"
CONVERSATION = "key, tenant, user, coalesce(id, deleted_id), version, created_at, facts"
"""What lists read; what may be large has a checksum of its own, with the key."""


def checksum(*columns: Any) -> int:
    return _signed(crc32(repr(columns).encode()))


def entry_checksum(*columns: Any) -> int:
    """Return the checksum of an entry: of the keys of tenant and conversation and the columns in `ENTRY`. It is made
    fast. Where damage has made something else of a number, or numbers of bytes, no stored checksum fits."""
    tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts = columns
    try:
        crc = crc32(
            _pack(
                tenant,
                conversation,
                seq,
                parent,
                kind,
                -1 if turn is None else turn,
                created_at,
                -1 if tokens is None else tokens,
                -1 if head is None else head,
                -1 if newest is None else newest,
                -1 if content is None else len(content),
                -1 if parts is None else len(parts),
            )
        )
        if id is not None:
            crc = crc32(id, crc)
        if content is not None:
            crc = crc32(content, crc)
        if parts is not None:
            crc = crc32(parts, crc)
    except (TypeError, struct.error):
        return _NONE_FITS
    return crc - ((crc & _SIGN) << 1)


def register(database: SqliteDatabase) -> None:
    """Let SQL on this connection compute checksums."""
    database.create_scalar_function("checksum", checksum, deterministic=True)
    database.create_scalar_function("entry_checksum", entry_checksum, 13, deterministic=True)


def _signed(number: int) -> int:
    """Return the same bits as a number that SQLite keeps in four bytes."""
    return number - ((number & _SIGN) << 1)
