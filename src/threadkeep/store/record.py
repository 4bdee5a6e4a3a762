"""A record: one step in the life of a conversation, as it is decided, kept and applied. Plain JSON can hold it.

Beside it: the end of a log, which the rules decide by, and where a record's entries go in the log. No I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pydantic import Field

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Body, Entry, PathBody
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Jump
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation.value import Moment, Text, Value
from threadkeep.store.base import ROOT


class Opening(Value):
    """The beginning of a conversation: whose it is, and a mark that tells it from a later one with the same id."""

    tenant: Id
    user: Id
    id: Id
    mark: Text
    new: NewConversation


class KeyUse(Value):
    """An idempotency key that a record protects: its name and the digest of the body, both in hexadecimal digits."""

    name: str
    digest: str


class OpenTurn(Value):
    """A turn as it is after a record. A final state takes it off the list of open turns."""

    number: int
    state: TurnState
    owner: str | None = None
    fence: int = 0
    taken: int = 0
    until: Moment | None = None


class Chunk(Value):
    """Text that is added to the message being written."""

    turn: int
    message: Id
    text: Text


class Record(Value):
    """What one step changes. `bodies` continue `parent` (none: the head) as entries of `turn`; `bytes` is their size.

    `head` moves the head without an entry of a branch. `view` is the digest of the readable file that goes with the
    state after this record; stores without such files leave it out.
    """

    at: Moment
    opening: Opening | None = None
    parent: int | None = None
    head: int | None = None
    turn: int | None = None
    bodies: tuple[Body, ...] = ()
    bytes: int = 0
    open_turn: OpenTurn | None = None
    chunk: Chunk | None = None
    key: KeyUse | None = None
    view: str | None = Field(default=None, max_length=64)


class Tip(NamedTuple):
    """The end of a log: its last entry of all, the head, and the newest entry on any branch (0 where there is none)."""

    last: int = 0
    head: int = 0
    newest: int = 0


class Placed(NamedTuple):
    """Entries with their places, the jump that the first of them makes, if any, and the end of the log after them."""

    entries: tuple[Entry, ...]
    jump: Jump | None
    tip: Tip


def place_entries(
    tip: Tip,
    bodies: Sequence[Body],
    parent: int,
    stamp: Callable[[int, int, Body], Entry],
    follower: Callable[[int], int],
) -> Placed:
    """Put bodies at the end of the log: those that continue a branch one after the other from `parent` on, remarks
    about the one before them. `stamp(seq, parent, body)` makes the entry; `follower(parent)` returns what continued
    `parent` in its own run so far, or 0; it is asked only when the tree jumps."""
    entries: list[Entry] = []
    jump = None
    last, head, newest = tip
    at = parent
    for body in bodies:
        last += 1
        entries.append(stamp(last, at, body))
        if isinstance(body, PathBody):
            if at != newest:
                jump = Jump(first=last, parent=at, left=newest, beside=follower(at))
            at = head = newest = last
    return Placed(tuple(entries), jump, Tip(last, head, newest))


def stamper(conversation: str, turn: int | None, now: datetime) -> Callable[[int, int, Body], Entry]:
    """Return a function that makes entries of one conversation, one turn and one moment."""

    def stamp(seq: int, parent: int, body: Body) -> Entry:
        return Entry.trusted(
            conversation=conversation,
            seq=seq,
            parent=None if parent == ROOT else parent,
            turn=turn,
            created_at=now,
            body=body,
        )

    return stamp


class Replay(NamedTuple):
    """What a key made the first time: the digest of its body, and the first and the last of its entries."""

    digest: str
    first: int
    last: int


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
    def tip(self) -> Tip:
        """Where its log ends."""

    @property
    def open_turns(self) -> Mapping[int, OpenTurn]:
        """Its open turns, by number."""

    @property
    def draft(self) -> DraftEnd | None:
        """The message being written, if there is one."""

    def replay(self, key: KeyUse) -> Replay | None:
        """Return what a key made in this conversation."""

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
