"""A copy: what is known of one conversation that the spool holds, and how it looks inside and outside."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.store.snapshot import Snapshot
from threadkeep.store.spool.spool_file import KeptKey, Place, inside
from threadkeep.store.values import Append, Begun, Created

MARK = "threadkeep_spool"
"""The key in the metadata of a conversation in the spool that describes the copy; it is not shown outside."""
BLIND = 2**40
"""Entries of a conversation of which nothing is known here, not even its length, are numbered from here on."""
_MARKED = ("tenant", "first", "base", "answers", "is_new", "is_blind", "carried", "key")


class StoredKey(IdempotencyKey):
    """An idempotency key of which only the name and the digest were kept."""

    stored: bytes

    @classmethod
    def of_hex(cls, name: str, digest: str) -> "StoredKey":
        """Return the key with this name and digest, in hexadecimal digits."""
        return cls(route="kept", key="kept", stored=bytes.fromhex(name), digest=bytes.fromhex(digest))

    @classmethod
    def of_kept(cls, key: KeptKey) -> "StoredKey":
        return cls(route="kept", key="kept", stored=key.name, digest=key.digest)

    def name(self, scope: Scope) -> bytes:
        return self.stored


@dataclass(kw_only=True)
class Copy:
    """`first` is the first entry that is known here, `base` the newest that came from the database, `last` the newest
    here; `answers` is whether enough is known for turns to go on; `is_new` is whether it was begun in the outage, with
    the name and the digest of a `key` if it had one; `is_blind` is whether its head is not known; `carried` are number,
    owner and fence of the turn of the database that goes on here, `is_writing` is whether that has written text since;
    `left` is set when it has left the spool."""

    scope: Scope
    id: str
    first: int = 1
    base: int = 0
    last: int = 0
    answers: bool = True
    is_new: bool = False
    is_blind: bool = False
    key: tuple[str, str] | None = None
    carried: tuple[int, str, int] | None = None
    is_writing: bool = False
    bytes: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of(cls, kept: Conversation) -> "Copy":
        """Return the copy that a conversation of the spool is."""
        mark = dict(kept.metadata[MARK])
        scope = Scope(tenant=mark.pop("tenant"), user=kept.scope.user)
        pairs = {name: tuple(mark[name]) for name in ("key", "carried") if mark[name]}
        return cls(scope=scope, id=kept.id, last=kept.entries, **{**mark, **pairs})

    @property
    def inside(self) -> Scope:
        """Whose it is in the spool."""
        return inside(self.scope)

    @property
    def place(self) -> Place:
        """What tells it from others."""
        return self.inside.tenant, self.id

    @property
    def is_spooled(self) -> bool:
        """Whether it holds anything that is not in the database."""
        return self.last > self.base or self.is_new or self.is_writing

    def runs(self, turn: int) -> bool:
        """Whether a turn is run here, and not in the database."""
        return turn > self.base or (self.carried is not None and self.carried[0] == turn)

    def marked(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return metadata with what describes the copy."""
        return metadata | {MARK: {"tenant": self.scope.tenant} | {name: getattr(self, name) for name in _MARKED[1:]}}

    def new(self, new: NewConversation) -> NewConversation:
        """Return a conversation as the spool keeps it."""
        return new.model_copy(update={"metadata": self.marked(new.metadata)})

    def into(self, value: Any) -> Any:
        """Return what is handed to a verb as the spool knows it."""
        match value:
            case Cursor(seq=seq) if seq < self.first - 1:
                return Cursor(seq=self.first - 1)
            case Lease() | Turn():
                return value.model_copy(update={"scope": self.inside})
            case Append(lease=Lease()):
                return replace(value, lease=self.into(value.lease))
            case Update(metadata=dict() as metadata):
                return value.model_copy(update={"metadata": self.marked(metadata)})
            case _:
                return value

    def out(self, value: Any) -> Any:
        """Return an answer of the spool as it is seen outside."""
        match value:
            case Lease() | Turn():
                return value.model_copy(update={"scope": self.scope})
            case Begun(lease=Lease()):
                return replace(value, lease=self.out(value.lease))
            case Conversation():
                metadata = {name: each for name, each in value.metadata.items() if name != MARK}
                return value.model_copy(update={"scope": self.scope, "metadata": metadata, "incomplete": True})
            case Created():
                return replace(value, conversation=self.out(value.conversation))
            case Snapshot():
                return replace(value, conversation=self.out(value.conversation), turns=self.out(value.turns))
            case tuple() if value and isinstance(value[0], Turn):
                return tuple(map(self.out, value))
            case _:
                return value
