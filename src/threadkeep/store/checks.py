"""Checks of input that every backend makes before it touches anything."""

import json
from typing import Any

from threadkeep import errors
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Body, Update
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation.value import check_text
from threadkeep.store.codec import Row, encode
from threadkeep.store.values import Adopt, Append, Begin, Import

MAX_METADATA_BYTES = 64 * 1024
MAX_SYSTEM_BYTES = 256 * 1024
MAX_VERSION = 2**31 - 1


def check_parent(parent: int | None) -> None:
    """Refuse a parent that is no possible seq."""
    if parent is not None and not 0 <= parent <= MAX_SEQ:
        raise errors.InvalidParent


def encode_within(body: Body, max_bytes: int) -> Row:
    """Return the columns of a body that is not larger than the limit."""
    row = encode(body)
    # A character has at most four bytes, so most entries need not be measured exactly.
    characters = len(row.content) + len(row.parts or "")
    if characters * 4 > max_bytes and row.size > max_bytes:
        raise errors.ContentTooLarge(f"An entry may hold at most {max_bytes} bytes.")
    return row


def check_new(new: NewConversation) -> None:
    """Refuse a new conversation whose instructions or metadata are too large."""
    _check_metadata(new.metadata)
    if new.system is not None and len(new.system.encode()) > MAX_SYSTEM_BYTES:
        raise errors.SystemTooLarge


def size_of(new: NewConversation) -> int:
    """Return the bytes of text that a new conversation begins with."""
    metadata = json.dumps(new.metadata, ensure_ascii=False) if new.metadata else ""
    return len("".join((new.title or "", new.system or "", metadata)).encode())


def check_update(change: Update) -> None:
    """Refuse a change to something large."""
    if change.metadata is not None:
        _check_metadata(change.metadata)


def _check_metadata(metadata: dict[str, Any]) -> None:
    if metadata and len(json.dumps(metadata, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise errors.MetadataTooLarge


def check_append(append: Append, max_bytes: int) -> list[Row]:
    """Return the encoded bodies of an append that makes sense by itself."""
    check_parent(append.parent)
    if append.settle is not None:
        if append.lease is None:
            raise errors.InvalidValue("Only the holder of a lease can settle a turn.")
        if append.settle.state in (TurnState.QUEUED, TurnState.RUNNING):
            raise errors.InvalidValue("A turn is settled as waiting or in a final state.")
        encode_within(append.settle, max_bytes)
    elif not append.bodies:
        raise errors.InvalidValue("There is nothing to append.")
    return [encode_within(body, max_bytes) for body in append.bodies]


def check_import(imported: Import, max_bytes: int) -> dict[int, Row]:
    """Return the encoded entries of an import that makes sense by itself, by their numbers."""
    check_new(imported.new)
    rows: dict[int, Row] = {}
    for entry in imported.entries:
        if not 0 < entry.seq <= MAX_SEQ or (rows and entry.seq - 1 not in rows):
            raise errors.InvalidImport("The entries of an import follow each other without a gap.")
        if not 0 <= (entry.parent or 0) < entry.seq or not 0 < (entry.turn or 1) <= entry.seq:
            raise errors.InvalidImport(f"Entry {entry.seq} continues or belongs to one that comes after it.")
        if isinstance(entry.body, Update):
            check_update(entry.body)
        rows[entry.seq] = encode_within(entry.body, max_bytes)
    last = imported.entries[-1].seq if imported.entries else 0
    if not 0 < (imported.version or 1) <= MAX_VERSION or not all(0 < turn <= last for turn in imported.open_turns):
        raise errors.InvalidImport("The version or the open turns of an import do not fit its entries.")
    return rows


def check_adopt(adopt: Adopt, max_bytes: int) -> list[Row]:
    """Return the encoded bodies of entries that make sense by themselves."""
    if not adopt.entries:
        raise errors.InvalidImport("There is nothing to adopt.")
    imported = Import(new=NewConversation(), created_at=adopt.entries[0].created_at, entries=adopt.entries)
    return list(check_import(imported, max_bytes).values())


def check_begin(begin: Begin, max_bytes: int) -> None:
    """Refuse a turn that makes no sense by itself."""
    check_parent(begin.parent)
    if begin.message is not None:
        encode_within(begin.message, max_bytes)
    elif not begin.parent:
        raise errors.InvalidParent("A turn without a message needs an entry to answer.")


def check_chunk(message: str, offset: int, text: str) -> None:
    """Refuse text that cannot be part of a message."""
    check_id(message)
    check_text(text)
    if offset < 0 or not text:
        raise errors.DraftMismatch("Text is added at the end of what is written, and is not empty.")
