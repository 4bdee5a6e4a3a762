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

ENTRY = "tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts"
CONVERSATION = (
    "key, tenant, user, coalesce(id, deleted_id), version, created_at, status, archived, assistant, title, model"
)
SETTINGS = "metadata, system"
"""What may be large, and lists leave out; it has a checksum of its own, with the key."""


def checksum(*columns: Any) -> int:
    """Return the checksum of some columns."""
    return _signed(crc32(repr(columns).encode()))


def entry_checksum(*columns: Any) -> int:
    """Return the checksum of an entry, of all columns in `ENTRY`."""
    return entry_sum(columns[0], columns[1], columns[2:])


def entry_sum(tenant: int, conversation: int, columns: Sequence[Any]) -> int:
    """Return the checksum of an entry, of the columns from `seq` to `parts`. It is made fast."""
    seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts = columns
    numbers = _pack(
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
    return _signed(crc32(b"".join((numbers, id or b"", content or b"", parts or b""))))


def is_entry(tenant: int, conversation: int, columns: Sequence[Any], crc: int | None) -> bool:
    """Whether the columns of an entry are as they were stored; damage can even make numbers of bytes."""
    try:
        return entry_sum(tenant, conversation, columns) == crc
    except (TypeError, struct.error):
        return False


def register(database: Database) -> None:
    """Let SQL on this connection compute checksums."""
    database.create_scalar_function("checksum", checksum, deterministic=True)
    database.create_scalar_function("entry_checksum", entry_checksum, 13, deterministic=True)


def _signed(number: int) -> int:
    """Return the same bits as a number that SQLite keeps in four bytes."""
    return number - ((number & _SIGN) << 1)
