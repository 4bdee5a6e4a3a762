"""Checksums of rows: one flipped bit on the disk must not be served as what was stored.

A row's checksum is kept in its column `crc` and covers every column that is not derived, the keys included. What is
read is checked where it becomes a value. A checksum that is missing does not fit either: damage can do that, too.
"""

import struct
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from threadkeep.store.sqlite_file import Database

_pack = struct.Struct("<12q").pack
_SIGN = 1 << 31
_NONE_FITS = 1 << 40

ENTRY = "tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts"
ENTRY_NUMBERS = (
    "seq, parent, kind, coalesce(turn, -1), created_at, coalesce(tokens, -1), coalesce(head, -1), "
    "coalesce(newest, -1), coalesce(length(content), -1), coalesce(length(parts), -1)"
)
CONVERSATION = (
    "key, tenant, user, coalesce(id, deleted_id), version, created_at, status, archived, assistant, title, model"
)
SETTINGS = "metadata, system"
"""What may be large, and lists leave out; it has a checksum of its own, with the key."""


def checksum(*columns: Any) -> int:
    return _signed(crc32(repr(columns).encode()))


def row_checksum(tenant: int, conversation: int, row: Sequence[Any]) -> int:
    """Return the checksum of an entry: of the numbers in `ENTRY_NUMBERS`, id, content and parts. It is made fast. Where
    damage has made something else of a number, or numbers of bytes, no stored checksum fits."""
    try:
        crc = crc32(_pack(tenant, conversation, *row[:10]))
        id, content, parts = row[10:13]
        if id is not None:
            crc = crc32(id, crc)
        if content is not None:
            crc = crc32(content, crc)
        if parts is not None:
            crc = crc32(parts, crc)
    except (TypeError, struct.error):
        return _NONE_FITS
    return crc - ((crc & _SIGN) << 1)


def _entry_checksum(*columns: Any) -> int:
    """Return the checksum of an entry, of all columns in `ENTRY`."""
    tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts = columns
    sizes = (None if content is None else len(content), None if parts is None else len(parts))
    numbers = (seq, parent, kind, turn, created_at, tokens, head, newest, *sizes)
    return row_checksum(tenant, conversation, (*(-1 if n is None else n for n in numbers), id, content, parts))


def register(database: Database) -> None:
    """Let SQL on this connection compute checksums."""
    database.create_scalar_function("checksum", checksum, deterministic=True)
    database.create_scalar_function("entry_checksum", _entry_checksum, 13, deterministic=True)


def _signed(number: int) -> int:
    """Return the same bits as a number that SQLite keeps in four bytes."""
    return number - ((number & _SIGN) << 1)
