"""A copy: one conversation as the spool keeps it during an outage, and how numbers there and outside relate.

The spool numbers entries from 1 like every store, and its copy begins with the first entry that is known here. Outside
they have the numbers of the database, and what is added goes on counting behind them: as long as nobody else writes,
cursors, parents and turns are the same before, during and after the outage.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Jump, Tree
from threadkeep.conversation.turn import Lease, Turn, TurnChange
from threadkeep.errors import StoreUnavailable
from threadkeep.store.values import Append, Appended, Begin, Begun, Created, Draft, Hit, LogPage

MARK = "threadkeep_spool"
"""The key in the metadata of a conversation in the spool that describes the copy; it is not shown outside."""
BLIND = 2**40
"""Entries of a conversation of which nothing is known here, not even its length, are numbered from here on."""
NOT_HERE = "The database is away, and this part of the conversation is not known here."
Key = tuple[str, str, str]
_MARKED = ("shift", "base", "answers", "is_new", "carried")


class KeptKey(IdempotencyKey):
    """An idempotency key of which only the name and the digest were kept."""

    kept: bytes

    @classmethod
    def of_hex(cls, name: str, digest: str) -> "KeptKey":
        """Return the key with this name and digest, in hexadecimal digits."""
        return cls(route="kept", key="kept", kept=bytes.fromhex(name), digest=bytes.fromhex(digest))

    def name(self, scope: Scope) -> bytes:
        return self.kept


@dataclass(kw_only=True)
class Copy:
    """What is known of a copy. `shift` is what numbers outside are larger by, `base` the newest entry (outside) that
    came from the database, `last` the newest here; `answers` is whether enough is known for turns to go on; `is_new` is
    whether the conversation was begun in the outage, with the name and the digest of a `key` if it had one.

    `carried` are the turns of the database that are open and go on here: for each its number and, if it ran here when
    the database went away, owner and fencing number. `is_writing` is whether one of them has written text since."""

    scope: Scope
    id: str
    shift: int = 0
    base: int = 0
    last: int = 0
    answers: bool = True
    is_new: bool = False
    key: tuple[str, str] | None = None
    carried: Sequence[tuple[int, str | None, int]] = ()
    is_writing: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def place(self) -> Key:
        """What tells it from others."""
        return self.scope.tenant, self.scope.user, self.id

    @property
    def is_spooled(self) -> bool:
        """Whether it holds anything that is not in the database."""
        return self.last > self.base or self.is_new or self.is_writing

    def runs(self, turn: int) -> bool:
        """Whether a turn is run here, and not in the database."""
        return turn > self.base or any(number == turn for number, *_ in self.carried)

    @property
    def mark(self) -> dict[str, Any]:
        """What the metadata in the spool tells."""
        facts = {name: getattr(self, name) for name in _MARKED}
        return {MARK: {**facts, **({"key": list(self.key)} if self.key else {})}}

    @classmethod
    def of(cls, kept: Conversation) -> "Copy":
        """Return the copy that a conversation of the spool is."""
        mark = kept.metadata.get(MARK, {})
        key = tuple(mark["key"]) if "key" in mark else None
        copy = cls(scope=kept.scope, id=kept.id, key=key, **{name: mark[name] for name in _MARKED if name in mark})
        copy.last = copy.shift + kept.entries
        return copy

    # From outside

    def into(self, value: Any) -> Any:
        """Return what is handed to a verb as the spool numbers it."""
        match value:
            case bool() | None:
                return value
            case int():
                return self._inside(value)
            case Cursor():
                known = value.seq > self.shift
                return value.model_copy(update={"seq": value.seq - self.shift}) if known else Cursor()
            case Append() | Begin():
                head = None if self.base == BLIND else self.into(value.expected_head)
                moved = replace(value, parent=self.into(value.parent), expected_head=head)
                if isinstance(moved, Append):
                    return replace(moved, lease=self.into(moved.lease))
                return replace(moved, waits=moved.waits or not self.answers)
            case Lease():
                return value.model_copy(update={"turn": value.turn - self.shift})
            case Turn():
                return value.model_copy(update={"number": value.number - self.shift})
            case Update(metadata=dict() as metadata):
                return value.model_copy(update={"metadata": metadata | self.mark})
            case _:
                return value

    def _inside(self, number: int) -> int:
        if 0 < number <= self.shift:
            raise StoreUnavailable(NOT_HERE)
        return number and number - self.shift

    # To the outside

    def out(self, value: Any) -> Any:
        """Return an answer of the spool as it is numbered outside."""
        match value:
            case tuple():
                return tuple(map(self.out, value))
            case Entry():
                return self._entry(value)
            case Conversation():
                numbers = {"head": self._outside(value.head), "entries": value.entries + self.shift}
                metadata = {name: each for name, each in value.metadata.items() if name != MARK}
                return value.model_copy(update={**numbers, "metadata": metadata, "incomplete": True})
            case Created():
                return replace(value, conversation=self.out(value.conversation))
            case Appended():
                return replace(value, entries=self.out(value.entries))
            case Begun():
                turn, lease = value.turn + self.shift, self.out(value.lease)
                return replace(value, turn=turn, entries=self.out(value.entries), lease=lease)
            case LogPage():
                return replace(value, entries=self.out(value.entries), draft=self.out(value.draft))
            case Draft():
                return replace(value, turn=value.turn + self.shift)
            case Lease():
                return value.model_copy(update={"turn": value.turn + self.shift})
            case Turn():
                return value.model_copy(update={"number": value.number + self.shift})
            case Hit():
                return replace(value, seq=self._outside(value.seq), branch=self._outside(value.branch))
            case Tree():
                return self._tree(value)
            case _:
                return value

    def _outside(self, number: int | None) -> int | None:
        return number and number + self.shift

    def _entry(self, entry: Entry) -> Entry:
        numbers = {name: self._outside(getattr(entry, name)) for name in ("seq", "parent", "turn")}
        body = entry.body
        if isinstance(body, TurnChange) and body.parent:
            body = body.model_copy(update={"parent": self._outside(body.parent)})
        return entry.model_copy(update={**numbers, "body": body})

    def _tree(self, tree: Tree) -> Tree:
        jumps = tuple(
            Jump(**{name: self._outside(number) or 0 for name, number in jump.model_dump().items()})
            for jump in tree.jumps
        )
        return Tree(jumps=jumps, newest=self._outside(tree.newest) or 0, head=self._outside(tree.head) or 0)

    def note(self, entries: Sequence[Entry]) -> None:
        """Take note of entries (numbered outside) that were added."""
        self.last = max([self.last, *(entry.seq for entry in entries)])
