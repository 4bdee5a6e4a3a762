"""Draining: what the spool holds of one conversation goes into the database, in order, once.

A turn is adopted whole, or not at all if the database has another one for its key. What the database has already is
found by the ids of messages: a write before the outage that nobody heard of, or a drain that was cut off. So a drain is
simply run again.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import (
    AlreadyExists,
    ConversationBusy,
    ConversationNotFound,
    ImportConflict,
    InvalidParent,
    KeyReused,
    StoreBusy,
)
from threadkeep.store.audit import ERASURE_BEGUN, USER, Wanted
from threadkeep.store.base import MAX_LIMIT, ROOT, Store
from threadkeep.store.ruled import RuledStore
from threadkeep.store.spool.copies import BLIND, MARK, Copy, StoredKey
from threadkeep.store.spool.spool_file import KeptKey, SpoolFile
from threadkeep.store.values import Adopt

logger = logging.getLogger(__name__)

MANY = 200
"""After so many entries the next end of a turn ends a commit."""
ATTEMPTS = 10
"""How often others may write to a conversation while it is drained."""
TAKEN_UP = "taken up"


class Fate(Enum):
    """What becomes of a turn: the database has nothing of it; has it, and it goes on as ours; has it, and others have
    gone on with it or ended it; or has another one for the same request."""

    NEW = auto()
    OURS = auto()
    THEIRS = auto()
    DOUBLE = auto()


class Fated(NamedTuple):
    """A turn's fate, its number in the database if it is there, and its state there if it is ours."""

    fate: Fate = Fate.NEW
    number: int = 0
    state: TurnState | None = None
    key: KeptKey | None = None


class Draining:
    """One conversation on its way. `places` tells where its entries are in the database, by their numbers in the
    spool; `written` are those that are there by this; `lease` is of a turn that goes on there."""

    def __init__(self, database: RuledStore, spool: SpoolFile, copy: Copy, lease: Lease | None = None) -> None:
        self._database = database
        self._spool = spool
        self._copy = copy
        self._lease = lease
        self._target = copy.id
        self._is_based = not copy.is_new
        self._given_up: set[int] = set()
        self._head = ROOT
        self._last = 0
        self._group: dict[int, int] = {}
        self._turns: dict[int, Fated] = {}
        self._said: dict[str, int] = {}
        self.places: dict[int, int] = {}
        self.written: list[Entry] = []

    async def run(self) -> None:
        """Write everything; raises what the database does, and can be run again."""
        copy = self._copy
        kept, keys = await self._spool.get(copy.inside, copy.id), await self._spool.keys_of(copy.inside, copy.id)
        entries = await log_after(self._spool, copy.inside, copy.id, copy.base)
        erased_at = await self._erased_at()
        if erased_at is not None:
            old = {entry.turn or entry.seq for entry in entries if entry.created_at <= erased_at}
            entries = [entry for entry in entries if (entry.turn or entry.seq) not in old]
        if not entries and (not copy.is_new or (erased_at is not None and kept.created_at <= erased_at)):
            return None
        for _ in range(ATTEMPTS):
            with suppress(ImportConflict):
                return await self._write(await self._conversation(kept), entries, keys)
        raise StoreBusy

    async def _erased_at(self) -> datetime | None:
        """Return when this person was erased last, anywhere: what was written before may not come back."""
        scope = self._copy.scope
        wanted = Wanted(actions=(ERASURE_BEGUN,), object=f"{USER}{scope.user}", newest_first=True)
        found = await self._database.audit.read(scope.tenant, wanted, limit=1)
        return found[0].act.at if found else None

    async def _conversation(self, kept: Conversation) -> Conversation:
        """Return the conversation in the database; it is made if it is not there. Where somebody else has its id, or
        may have it, it gets another one, the same whenever the drain is run again."""
        scope, copy = self._copy.scope, self._copy
        with suppress(ConversationNotFound):
            return await self._database.get(scope, self._target)
        self._is_based = False
        about = {name: getattr(kept, name) for name in ("assistant", "title", "system", "model")}
        metadata = {name: each for name, each in kept.metadata.items() if name != MARK}
        key = StoredKey.of_hex(*copy.key) if copy.key else None
        for name in [copy.id] * (copy.base != BLIND) + [
            f"spooled-{_gist([copy.scope.user, copy.id, kept.created_at])}"
        ]:
            self._target = name
            new = NewConversation(id=name, metadata=metadata, **about)
            with suppress(ConversationNotFound):
                return await self._database.get(scope, name)
            with suppress(AlreadyExists, KeyReused):
                created = await self._database.create(scope, new, key=key, at=kept.created_at, within_caps=False)
                if created.conversation.id != name:  # the same request was answered elsewhere, by another one
                    created = await self._database.create(scope, new, at=kept.created_at, within_caps=False)
                if not copy.is_new or name != copy.id:
                    logger.warning("conversation %s is not in the database; what was spooled is in %s", copy.id, name)
                return created.conversation
        raise StoreBusy

    async def _write(self, there: Conversation, entries: Sequence[Entry], keys: Sequence[KeptKey]) -> None:
        """Write everything; `ImportConflict` if others write, too."""
        self.places, self.written = {}, []
        self._head, self._last = there.head or ROOT, there.entries
        await self._look(entries, {key.first: key for key in keys})
        for unit in _units(entries):
            moved = self._moved(unit)
            if moved:
                await self._adopt(unit, moved)

    # What the database has

    async def _look(self, entries: Sequence[Entry], keys: dict[int, KeptKey]) -> None:
        """Find out what the database has of these entries."""
        since = self._copy.base if self._is_based and not self._copy.is_blind else max(0, self._last - MAX_LIMIT)
        later = await log_after(self._database, self._copy.scope, self._target, since) if since < self._last else []
        self._last = max([self._last, *(entry.seq for entry in later)])
        # Of a message that was queued and begun the first place counts, which tells that it was queued.
        sent = {message.id: entry for entry in reversed(later) if (message := _sent(entry))}
        self._said = {entry.body.id: entry.seq for entry in later if isinstance(entry.body, Message)}
        is_asked = bool(later) or any(entry.turn and entry.turn <= self._copy.base for entry in entries)
        turns = await self._database.turns(self._copy.scope, self._target) if is_asked else ()
        open_turns = {turn.number: turn for turn in turns}
        self._turns, self._group = {0: Fated()}, {}
        keyed = {seq: key.first for key in keys.values() for seq in range(key.first, key.last + 1)}
        for entry in entries:
            group = self._group[entry.seq] = entry.turn or keyed.get(entry.seq, 0)
            if group not in self._turns:
                fated = await self._fate(entry, sent, open_turns, keys.get(group))
                self._turns[group] = fated._replace(fate=Fate.THEIRS) if group in self._given_up else fated

    async def _fate(
        self, first: Entry, there: dict[str, Entry], open_turns: dict[int, Turn], key: KeptKey | None
    ) -> Fated:
        """Return what becomes of the turn, or of what came with a key, that begins with this entry."""
        number, sent = first.turn or first.seq, _sent(first)
        if number <= self._copy.base:
            turn = open_turns.get(number)
            is_ours = turn is not None and (number, turn.owner, turn.fence) == self._copy.carried
            return Fated(Fate.OURS if is_ours else Fate.THEIRS, number, TurnState.RUNNING)
        found = there.get(sent.id) if sent else None
        if found is None and key is not None:
            try:
                made = await self._database.made_by(self._copy.scope, self._target, StoredKey.of_kept(key))
            except KeyReused:
                key, made = None, None
            if made is not None:
                return Fated(Fate.DOUBLE)
        if found is None:
            return Fated(key=key)
        turn = open_turns.get(found.turn or 0)
        state = TurnState.QUEUED if isinstance(found.body, TurnChange) else TurnState.RUNNING
        is_ours = turn is not None and turn.state is state and turn.fence <= 1
        return Fated(Fate.OURS if is_ours else Fate.THEIRS, found.turn or 0, state)

    # What is written

    def _moved(self, unit: Sequence[Entry]) -> list[Entry]:
        """Return those entries of a unit that the database lacks, as it is to take them."""
        left = []
        for entry in unit:
            if isinstance(entry.body, Message) and entry.body.id in self._said:
                self.places[entry.seq] = self._said[entry.body.id]
            elif self._is_wanted(entry):
                left.append(entry)
                self.places[entry.seq] = self._last + len(left)
        return [self._placed(entry) for entry in left]

    def _is_wanted(self, entry: Entry) -> bool:
        """Whether the database is to have an entry, given the fate of its turn."""
        fated, change = self._turns[self._group[entry.seq]], entry.body
        if fated.fate is Fate.DOUBLE or not isinstance(change, TurnChange):
            return fated.fate is not Fate.DOUBLE
        if fated.fate is Fate.OURS:
            return change.state not in (TurnState.QUEUED, fated.state) or change.detail == TAKEN_UP
        return fated.fate is Fate.NEW

    def _placed(self, entry: Entry) -> Entry:
        body, fated = entry.body, self._turns[self._group[entry.seq]]
        if isinstance(body, TurnChange) and body.parent:
            body = body.model_copy(update={"parent": self._place(body.parent)})
        turn = entry.turn and (fated.number or self.places[entry.turn])
        if fated.fate is Fate.THEIRS:
            turn = None
        numbers = {"seq": self.places[entry.seq], "parent": self._place(entry.parent or ROOT) or None, "turn": turn}
        return entry.model_copy(update={**numbers, "conversation": self._target, "body": body})

    def _place(self, number: int) -> int:
        """Return where an entry is in the database, that others continue; the head if it is not there."""
        if number == ROOT:
            return self._head if self._copy.is_blind else ROOT
        if number <= self._copy.base:
            return number if self._is_based else ROOT
        return self.places.get(number, self._head)

    async def _adopt(self, unit: Sequence[Entry], moved: list[Entry]) -> None:
        first, last = unit[0].seq, unit[-1].seq
        own = IdempotencyKey.of(
            f"spool {self._copy.id}", _gist([(entry.seq, entry.created_at) for entry in unit]), None
        )
        keys = [
            (StoredKey.of_kept(fated.key), self.places[fated.key.first], self.places[fated.key.last])
            for fated in self._turns.values()
            if fated.key is not None and first <= fated.key.first <= last
        ]
        lease = self._lease
        if lease is not None:
            is_here = self._turns.get(lease.turn, Fated()).number or self.places.get(lease.turn)
            lease = lease if is_here == lease.turn and self._target == lease.conversation else None
        adopt = Adopt(entries=tuple(moved), key=own, keys=tuple(keys), lease=lease)
        try:
            adopted = await self._database.adopt(self._copy.scope, self._target, adopt)
        except ConversationBusy:
            # Text arrived there that nobody heard of: whoever takes that turn up there sees to it.
            self._given_up |= {turn for turn, fated in self._turns.items() if turn and fated.fate is Fate.OURS}
            raise ImportConflict from None
        except InvalidParent:
            # What it continues is not on a branch there: another conversation has this id by now.
            if not self._is_based:
                raise
            self._is_based = False
            raise ImportConflict from None
        self.written += adopted.entries
        self._last = max(self._last, adopted.entries[-1].seq)
        self._head = next((entry.seq for entry in reversed(adopted.entries) if entry.continues_branch), self._head)


def _sent(entry: Entry) -> Message | None:
    """Return the message that an entry holds, also of a turn that is queued."""
    body = entry.body
    return body if isinstance(body, Message) else body.message if isinstance(body, TurnChange) else None


def _gist(parts: Sequence[object]) -> str:
    return blake2b(json.dumps(parts, default=str).encode(), digest_size=16).hexdigest()


def _units(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield entries in the groups that are written in one step: a turn is never divided."""
    unit: list[Entry] = []
    running: set[int] = set()
    for entry in entries:
        unit.append(entry)
        if entry.turn is not None:
            running.add(entry.turn)
            if isinstance(entry.body, TurnChange) and not entry.body.state.is_open:
                running.discard(entry.turn)
        if not running and len(unit) >= MANY:
            yield unit
            unit = []
    if unit:
        yield unit


async def log_after(store: Store, scope: Scope, conversation: str, after: int) -> list[Entry]:
    """Return the log behind an entry."""
    found: list[Entry] = []
    while page := (await store.log(scope, conversation, Cursor(seq=after), limit=MAX_LIMIT)).entries:
        found += page
        after = page[-1].seq
    return found
