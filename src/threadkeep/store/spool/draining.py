"""Draining: what the spool holds of one conversation goes into the database, in order, once.

Entries are written in groups, each with an idempotency key: the client's key where there is one, so that a retry finds
them, else a key made of their place in the spool. So a drain that was cut off is simply run again.
"""

import logging
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.errors import (
    AlreadyExists,
    ConversationBusy,
    ConversationNotFound,
    ImportConflict,
    InvalidParent,
    KeyReused,
    StoreBusy,
)
from threadkeep.store.base import MAX_LIMIT, Store
from threadkeep.store.spool.copies import BLIND, MARK, Copy, KeptKey
from threadkeep.store.values import Adopt

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 200
"""How many entries that no client's key protects go in one commit."""


ATTEMPTS = 10
"""How often others may write to a conversation while it is drained."""
KeptRange = tuple[str, str, int, int]
"""Name and digest of a key in hexadecimal digits, and the first and the last entry that it made."""


class Spool(Store):
    """A store that can be drained: it tells which keys made which entries."""

    @abstractmethod
    async def keys_of(self, scope: Scope, conversation: str) -> Sequence[KeptRange]:
        """Return the keys that protect entries of a conversation."""


class Draining:
    """One conversation on its way. `places` tells where its entries are in the database, by their numbers in the
    spool; `written` are those that are there by this."""

    def __init__(self, database: Store, spool: Spool, copy: Copy) -> None:
        self._database = database
        self._spool = spool
        self._copy = copy
        self._target = copy.id
        self._is_gone = False
        self._last = 0
        self._lost: set[int] = set()
        self.places: dict[int, int] = {}
        self.written: list[Entry] = []

    @property
    def is_moved(self) -> bool:
        """Whether somebody who has read the copy must read again."""
        return any(there != here + self._copy.shift for here, there in self.places.items())

    async def run(self) -> None:
        """Write everything; raises what the database does, and can be run again."""
        scope, copy = self._copy.scope, self._copy
        kept = await self._spool.get(scope, copy.id)
        entries = await _log(self._spool, scope, copy.id, copy.base - copy.shift)
        if not entries and not copy.is_new:
            return None
        keys = await self._spool.keys_of(scope, copy.id)
        for _ in range(ATTEMPTS):
            with suppress(ImportConflict):
                return await self._write(await self._there(kept), entries, keys)
        raise StoreBusy

    async def _write(self, there: Conversation, entries: Sequence[Entry], keys: Sequence[KeptRange]) -> None:
        """Write everything; `ImportConflict` if others write, too."""
        self.places, self.written = {}, []
        if self._copy.base == BLIND:
            self.places[0] = there.head or 0
        self._last = there.entries
        self._lost = await self._lost_turns()
        arrived = await self._arrived()
        left = [entry for entry in entries if not self._is_there(entry, arrived)]
        for key, group in _groups(self._copy, left, keys):
            await self._adopt(key, group)
        self.places.pop(0, None)

    async def _there(self, kept: Conversation) -> Conversation:
        """Return the conversation in the database; it is made if it is not there."""
        scope, copy = self._copy.scope, self._copy
        try:
            return await self._database.get(scope, copy.id)
        except ConversationNotFound:
            self._is_gone = True
        about = {name: getattr(kept, name) for name in ("assistant", "title", "system", "model")}
        metadata = {name: each for name, each in kept.metadata.items() if name != MARK}
        new = NewConversation(id=copy.id, metadata=metadata, **about)
        key = KeptKey.of_hex(*copy.key) if copy.key else None
        try:
            created = await self._database.create(scope, new, key=key, at=kept.created_at)
            if created.conversation.id != copy.id:  # the same request was answered elsewhere meanwhile, by another one
                created = await self._database.create(scope, new, at=kept.created_at)
        except (AlreadyExists, KeyReused):
            # Somebody else has this id by now.
            created = await self._database.create(scope, new.model_copy(update={"id": None}), at=kept.created_at)
        self._target = created.conversation.id
        if not copy.is_new or self._target != copy.id:
            logger.warning("conversation %s is not in the database; what was spooled is in %s", copy.id, self._target)
        return created.conversation

    async def _lost_turns(self) -> set[int]:
        """Return the turns (as the spool numbers them) that went on here and that others have taken up or ended
        meanwhile: what was said in them here is a branch, and theirs decides how they end."""
        if not self._copy.carried:
            return set()
        there = {turn.number: turn for turn in await self._database.turns(self._copy.scope, self._target)}
        lost = set()
        for number, owner, fence in self._copy.carried:
            turn = there.get(number)
            if turn is None or (turn.owner is not None and (turn.owner, turn.fence) != (owner, fence)):
                lost.add(number - self._copy.shift)
        return lost

    async def _arrived(self) -> dict[str | int, Entry]:
        """Return the entries that came into the database since the copy was made, by their numbers and messages."""
        if self._copy.base >= self._last:
            return {}
        later = await _log(self._database, self._copy.scope, self._target, self._copy.base)
        self._last = later[-1].seq
        return {sent.id: entry for entry in later if (sent := _sent(entry))} | {entry.seq: entry for entry in later}

    def _is_there(self, entry: Entry, arrived: dict[str | int, Entry]) -> bool:
        """Whether an entry is in the database because the last write before the outage arrived after all: it holds the
        same message, or is the same and stands behind the same. What an earlier drain wrote has the time that it has
        here, and is found by its key."""
        sent = _sent(entry)
        same = arrived.get(sent.id if sent else self._place(entry.seq - 1) + 1)
        if same is None or same.created_at == entry.created_at or (sent is None and same.body != entry.body):
            return False
        self.places[entry.seq] = same.seq
        return True

    async def _adopt(self, key: IdempotencyKey, group: Sequence[Entry]) -> None:
        try:
            adopted = await self._database.adopt(self._copy.scope, self._target, self._moved(key, group))
        except KeyReused:
            own = _own_key(self._copy, group[0])
            adopted = await self._database.adopt(self._copy.scope, self._target, self._moved(own, group))
        except ConversationBusy:
            # Text arrived there that nobody heard of: whoever takes that turn up there sees to it.
            self._lost |= {entry.turn for entry in group if entry.turn is not None}
            adopted = await self._database.adopt(self._copy.scope, self._target, self._moved(key, group))
        except InvalidParent:
            # What it continues is not on a branch there: it goes on behind what is.
            head = (await self._database.get(self._copy.scope, self._target)).head
            adopted = await self._database.adopt(self._copy.scope, self._target, self._moved(key, group, head or 0))
        self.written += adopted.entries
        self._last = max(self._last, adopted.entries[-1].seq)
        for at, entry in enumerate(group):
            # Another instance may have taken the same request in its own way; its last entry stands for ours then.
            self.places[entry.seq] = adopted.entries[min(at, len(adopted.entries) - 1)].seq

    def _moved(self, key: IdempotencyKey, group: Sequence[Entry], instead: int | None = None) -> Adopt:
        """Return entries as the database is to take them."""
        own = {entry.seq: self._last + at for at, entry in enumerate(group, 1)}

        def there(number: int | None) -> int | None:
            if number in own:
                return own[number]
            return (self._place(number or 0) if instead is None else instead) or None

        def turn(number: int | None) -> int | None:
            return None if number is None else own.get(number) or self._place(number) or None

        entries = []
        for entry in group:
            body, turn_here = entry.body, entry.turn
            if turn_here in self._lost:
                # A remark keeps its place, so that a drain that is run again finds the same groups.
                body, turn_here = (Update() if isinstance(body, TurnChange) else body), None
            if isinstance(body, TurnChange) and body.parent:
                body = body.model_copy(update={"parent": there(body.parent)})
            numbers = {"seq": own[entry.seq], "parent": there(entry.parent), "turn": turn(turn_here)}
            entries.append(entry.model_copy(update={**numbers, "conversation": self._target, "body": body}))
        return Adopt(entries=tuple(entries), key=key)

    def _place(self, number: int) -> int:
        """Return where an entry of the spool is in the database; 0 for the root, and for what is gone."""
        if number in self.places or number == 0:
            return self.places.get(number, 0)
        return 0 if self._is_gone else number + self._copy.shift


def _sent(entry: Entry) -> Message | None:
    """Return the message that an entry holds, also of a turn that is queued."""
    body = entry.body
    return body if isinstance(body, Message) else body.message if isinstance(body, TurnChange) else None


async def _log(store: Store, scope: Scope, conversation: str, after: int) -> list[Entry]:
    """Return the log behind an entry."""
    found: list[Entry] = []
    while page := (await store.log(scope, conversation, Cursor(seq=after), limit=MAX_LIMIT)).entries:
        found += page
        after = page[-1].seq
    return found


def _groups(
    copy: Copy, entries: Sequence[Entry], keys: Sequence[KeptRange]
) -> Iterator[tuple[IdempotencyKey, list[Entry]]]:
    """Yield entries in the groups that they are written in, with the key of each."""
    ranges = {first: (last, KeptKey.of_hex(name, digest)) for name, digest, first, last in keys}
    group: list[Entry] = []
    key: IdempotencyKey | None = None
    until = 0
    for entry in entries:
        is_keyed = entry.seq in ranges
        if group and (is_keyed or (entry.seq > until and until) or len(group) >= MOST_AT_ONCE):
            yield key or _own_key(copy, group[0]), group
            group, key, until = [], None, 0
        if is_keyed:
            until, key = ranges[entry.seq]
        group.append(entry)
    if group:
        yield key or _own_key(copy, group[0]), group


def _own_key(copy: Copy, first: Entry) -> IdempotencyKey:
    return IdempotencyKey.of(f"spool {copy.id}", f"{first.created_at.isoformat()} {first.seq}", None)
