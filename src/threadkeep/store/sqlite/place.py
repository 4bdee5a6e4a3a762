"""Where a conversation is stored in SQLite, and whether what is read there is whole."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.tree import Jump
from threadkeep.errors import StoreCorrupt
from threadkeep.store.base import ROOT
from threadkeep.store.sqlite.checksums import checksum, is_entry


class Place(NamedTuple):
    """A conversation found for its owner: the keys that its rows begin with, its id, its version, and how many entries
    it has at least."""

    tenant: int
    conversation: int
    id: str
    version: int
    entries: int = 0


def check_entry(place: Place, row: Sequence[Any]) -> None:
    """Refuse an entry that is not as it was stored."""
    if not is_entry(place.tenant, place.conversation, row[:-1], row[-1]):
        raise StoreCorrupt(f"Entry {row[0]} of conversation {place.id} is damaged.")


def check_chain(place: Place, parent: int, entries: Sequence[Entry], head: int | None) -> None:
    """Refuse entries of a branch that do not continue `parent` and each other, up to the head if it is given."""
    for entry in entries:
        if (entry.parent or ROOT) != parent:
            raise gap(place)
        parent = entry.seq
    if head is not None and parent != head:
        raise gap(place)


def gap(place: Place) -> StoreCorrupt:
    """Return the error for entries that are missing."""
    return StoreCorrupt(f"Entries of conversation {place.id} cannot be found: an index is damaged.")


def read_jump(place: Place, row: Sequence[Any]) -> Jump:
    """Return a jump of the tree; refuse one that is not as it was stored."""
    first, parent, left, beside, crc = row
    if crc != checksum(*place[:2], *row[:-1]):
        raise StoreCorrupt(f"A branch of conversation {place.id} is damaged.")
    return Jump.trusted(first=first, parent=parent, left=left, beside=beside)
