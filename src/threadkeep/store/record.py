"""A record: one step in the life of a conversation, as it is decided and committed.

Also here: the end of a log, on which the rules decide, and where a record's entries go in the log. No I/O.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from threadkeep.conversation.entry import Body, Entry, HeadChoice, PathBody
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Jump
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.conversation.value import Moment, Text, Value
from threadkeep.store.base import ROOT


class KeyUse(Value):
    """An idempotency key that a record protects: its name and the digest of the body, both in hexadecimal digits."""

    name: str
    digest: str


class Chunk(Value):
    """Text that is added to the message being written."""

    turn: int
    message: Id
    text: Text


class ImportedPlace(Value):
    """Where a body stood in another store, and when. `beside` is what continued its parent first, if the tree jumps."""

    parent: int
    turn: int | None = None
    at: Moment
    beside: int = 0


class KeyPlace(KeyUse):
    """A key, and the first and the last of the entries that it made."""

    first: int
    last: int


class Imported(Value):
    """The places of the bodies of an import. `version` and `turns`, open ones and ended ones, come with its end."""

    places: tuple[ImportedPlace, ...]
    version: int = 0
    turns: tuple[Turn, ...] = ()
    keys: tuple[KeyPlace, ...] = ()


class Record(Value):
    """What one step changes. `bodies` continue `parent` (none: the head) as entries of `turn`; an import says of each
    where it belongs instead. `head` moves the head without an entry of a branch."""

    at: Moment
    parent: int | None = None
    head: int | None = None
    turn: int | None = None
    bodies: tuple[Body, ...] = ()
    open_turn: Turn | None = None
    chunk: Chunk | None = None
    key: KeyUse | None = None
    imported: Imported | None = None

    def keys(self, first: int, last: int) -> tuple[KeyPlace, ...]:
        """Return the keys that this step protects, given the first and the last of its entries."""
        own = () if self.key is None else (KeyPlace(**dict(self.key), first=first, last=last),)
        return own if self.imported is None else (*own, *self.imported.keys)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that this step changes, as they are after it."""
        if self.imported is not None:
            return self.imported.turns
        return () if self.open_turn is None else (self.open_turn,)


class Tip(NamedTuple):
    """The end of a log: its last entry of all, the head, and the newest entry on any branch (0 where there is none)."""

    last: int = 0
    head: int = 0
    newest: int = 0

    def after(self, entry: Entry) -> "Tip":
        """Return the end with one more entry. What a turn begins to answer is the head, as is what was chosen."""
        if entry.continues_branch:
            return Tip(entry.seq, entry.seq, entry.seq)
        return self._replace(last=entry.seq, head=(entry.parent or ROOT) if _moves_head(entry.body) else self.head)


def _moves_head(remark: Body) -> bool:
    return isinstance(remark, HeadChoice) or (isinstance(remark, TurnChange) and remark.state is TurnState.RUNNING)


EntryPlace = tuple[int, int, int | None, datetime, int, int]
"""Where an entry stands: its seq, parent, turn and time, and the head and the newest entry of any branch after it."""


class Placed(NamedTuple):
    """Entries and their places, the jumps of the tree that they make, and the end of the log after them."""

    entries: tuple[Entry, ...]
    places: tuple[EntryPlace, ...]
    jumps: tuple[Jump, ...]
    tip: Tip


def place_entries(tip: Tip, record: Record, conversation: str, follower: Callable[[int], int]) -> Placed:
    """Put the bodies of a record at the end of the log. `follower(parent)` returns what continued `parent` in its own
    run so far, or 0; it is asked only when the tree jumps."""
    entries: list[Entry] = []
    places: list[EntryPlace] = []
    jumps: list[Jump] = []
    tip = tip if record.head is None else tip._replace(head=record.head)
    seq, head, newest = tip
    wanted = _continued(tip, record) if record.imported is None else _imported(record.imported)
    for body, (parent, turn, at, beside) in zip(record.bodies, wanted, strict=True):
        seq += 1
        if isinstance(body, PathBody):
            if parent != newest:
                beside = follower(parent) if beside is None else beside
                jumps.append(Jump(first=seq, parent=parent, left=newest, beside=beside))
            head = newest = seq
        elif _moves_head(body):
            head = parent
        fields = {
            "conversation": conversation,
            "seq": seq,
            "parent": None if parent == ROOT else parent,
            "turn": turn,
            "created_at": at,
            "body": body,
        }
        entries.append(Entry.adopt(fields))
        places.append((seq, parent, turn, at, head, newest))
    return Placed(tuple(entries), tuple(places), tuple(jumps), Tip(seq, head, newest))


_Place = tuple[int, int | None, datetime, int | None]


def _continued(tip: Tip, record: Record) -> Iterator[_Place]:
    """Yield places one after the other: what continues a branch moves on along it, a remark is about the one before."""
    parent = tip.head if record.parent is None else record.parent
    turn, at = record.turn, record.at
    for seq, body in enumerate(record.bodies, tip.last + 1):
        yield parent, turn, at, None
        parent = seq if isinstance(body, PathBody) else parent


def _imported(imported: Imported) -> Iterator[_Place]:
    for each in imported.places:
        yield each.parent, each.turn, each.at, each.beside


class DraftEnd(NamedTuple):
    """The message being written: its id, its turn, and how much there is of it."""

    message: str
    turn: int
    characters: int
    bytes: int


class End(Protocol):
    """What is known of a conversation before something is written to it."""

    @property
    def scope(self) -> Scope:
        """Whose it is."""

    @property
    def id(self) -> str:
        """The conversation."""

    @property
    def version(self) -> int:
        """Its version."""

    @property
    def status(self) -> Status:
        """Its status."""

    @property
    def tip(self) -> Tip:
        """Where its log ends."""

    @property
    def open_turns(self) -> Mapping[int, Turn]:
        """Its open turns, by number."""

    @property
    def draft(self) -> DraftEnd | None:
        """The message being written, if there is one."""

    def replay(self, key: KeyUse) -> KeyPlace | None:
        """Return what a key made in this conversation."""

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
