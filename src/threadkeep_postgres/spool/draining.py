"""Draining: what the spool holds of one conversation goes into the database, in one step and in order, once.

A turn is adopted whole, or not at all if the database has another one for its key. What the database has already is
found by the ids of messages and the times of other entries: a write before the outage that nobody heard of, or a drain
that was cut off. So a drain is simply run again.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from threadkeep import errors
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.store.audit import ERASURE_BEGUN, USER, Wanted
from threadkeep.store.base import MAX_LIMIT, ROOT, Store
from threadkeep.store.record import KeyPlace
from threadkeep.store.ruled import RuledStore
from threadkeep.store.values import Adopt, Append
from threadkeep_postgres.spool.memory import Memory, sent_with
from threadkeep_postgres.spool.outage import OUTAGES
from threadkeep_postgres.spool.spool_file import Copy, Place, SpoolFile, StoredKey

logger = logging.getLogger("threadkeep.store.spool.draining")

DRAINED_AT_ONCE = 8
KEPT_FOR = timedelta(seconds=10)
"""How long a lease is extended in the database for a turn that goes on here, whenever its end is waited for."""
ATTEMPTS = 10
"""How often others may write to a conversation while it is drained."""
TAKEN_UP = "taken up"


class Fate(NamedTuple):
    """What becomes of a turn, or of what came with a key. `number` and `state` are those of a turn that the database
    has; it goes on there if it `is_ours`, otherwise as others say. Nothing is written of one that `is_double`: the
    database has another one for the same request. `key` is that of a new one."""

    number: int = 0
    state: TurnState | None = None
    is_ours: bool = False
    is_double: bool = False
    key: KeyPlace | None = None

    def wants(self, entry: Entry) -> bool:
        """Whether the database is to have an entry of it."""
        if self.number and isinstance(change := entry.body, TurnChange):
            return self.is_ours and (change.state not in (TurnState.QUEUED, self.state) or change.detail == TAKEN_UP)
        return not self.is_double


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
        self.places: dict[int, int] = {}
        self.written: tuple[Entry, ...] = ()

    async def run(self) -> None:
        """Write everything; raises what the database does, and can be run again."""
        copy = self._copy
        kept, keys = await self._spool.get(*copy.place), await self._spool.keys_of(copy)
        entries = await log_after(self._spool, *copy.place, copy.base)
        erased_at = await self._erased_at()
        if erased_at is not None:
            old = {entry.turn or entry.seq for entry in entries if entry.created_at <= erased_at}
            entries = [entry for entry in entries if (entry.turn or entry.seq) not in old]
        if not entries and (not copy.is_new or (erased_at is not None and kept.created_at <= erased_at)):
            return None
        for _ in range(ATTEMPTS):
            with suppress(errors.ImportConflict):
                return await self._write(await self._conversation(kept), entries, {key.first: key for key in keys})
        raise errors.StoreBusy

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
        with suppress(errors.ConversationNotFound):
            return await self._database.get(scope, self._target)
        self._is_based = False
        about = {name: getattr(kept, name) for name in ("assistant", "title", "system", "model", "metadata")}
        key = StoredKey.of_use(copy.key) if copy.key else None
        another = f"spooled-{_gist([scope.user, copy.id, kept.created_at])}"
        for name in [another] if copy.is_blind else [copy.id, another]:
            self._target = name
            with suppress(errors.ConversationNotFound):
                return await self._database.get(scope, name)
            with suppress(errors.AlreadyExists, errors.KeyReused):
                make = partial(self._database.create, scope, NewConversation(id=name, **about), at=kept.created_at)
                created = await make(key=key, within_caps=False)
                if created.conversation.id != name:  # the same request was answered elsewhere, by another one
                    created = await make(within_caps=False)
                if not copy.is_new or name != copy.id:
                    logger.warning("conversation %s is not in the database; what was spooled is in %s", copy.id, name)
                return created.conversation
        raise errors.StoreBusy

    async def _write(self, there: Conversation, entries: Sequence[Entry], keys: dict[int, KeyPlace]) -> None:
        """Write everything; `ImportConflict` if others write, too."""
        copy, last = self._copy, there.entries
        since = copy.base if self._is_based and not copy.is_blind else max(0, last - MAX_LIMIT)
        later = await log_after(self._database, copy.scope, self._target, since) if since < last else []
        known = {_identity(entry): entry.seq for entry in later}
        last = max([last, *known.values()])
        keyed = {seq: key.first for key in keys.values() for seq in range(key.first, key.last + 1)}
        groups = {entry.seq: entry.turn or keyed.get(entry.seq, 0) for entry in entries}
        fates = await self._fates(entries, groups, later, keys)
        self.places, lacking = {}, []
        for entry in entries:
            if (place := known.get(_identity(entry))) is not None:
                self.places[entry.seq] = place
            elif fates[groups[entry.seq]].wants(entry):
                lacking.append(entry)
                self.places[entry.seq] = last + len(lacking)
        moved = tuple(self._placed(entry, fates[groups[entry.seq]], there.head or ROOT) for entry in lacking)
        if moved:
            await self._adopt(entries, moved, fates)

    async def _fates(
        self, entries: Sequence[Entry], groups: dict[int, int], later: Sequence[Entry], keys: dict[int, KeyPlace]
    ) -> dict[int, Fate]:
        """Return what becomes of each turn, or of what came with a key, by the entry that it begins with."""
        copy, fates = self._copy, {0: Fate()}
        # Of a message that was queued and begun the first place counts, which tells that it was queued.
        sent = {message.id: entry for entry in reversed(later) if (message := sent_with(entry.body))}
        is_asked = bool(later) or any(group and group <= copy.base for group in groups.values())
        turns = await self._database.turns(copy.scope, self._target) if is_asked else ()
        open_turns = {turn.number: turn for turn in turns if turn.number not in self._given_up}
        for entry in entries:
            if (group := groups[entry.seq]) in fates:
                continue
            message, key, held = sent_with(entry.body), keys.get(group), copy.lease
            there = sent.get(message.id) if message else None
            if group <= copy.base:
                turn = open_turns.get(group)
                is_ours = bool(turn and held and (turn.owner, turn.fence) == (held.owner, held.fence))
                fates[group] = Fate(group, TurnState.RUNNING, is_ours)
            elif there is not None:
                turn = open_turns.get(there.turn or 0)
                state = TurnState.QUEUED if isinstance(there.body, TurnChange) else TurnState.RUNNING
                is_ours = turn is not None and turn.state is state and turn.fence <= 1
                fates[group] = Fate(there.turn or there.seq, state, is_ours)
            else:
                fates[group] = await self._fate_by_key(key)
        return fates

    async def _fate_by_key(self, key: KeyPlace | None) -> Fate:
        """Return what becomes of what the database does not have by its message."""
        if key is None:
            return Fate()
        try:
            made = await self._database.made_by(self._copy.scope, self._target, StoredKey.of_use(key))
        except errors.KeyReused:
            return Fate()
        return Fate(key=key) if made is None else Fate(is_double=True)

    # What is written

    def _placed(self, entry: Entry, fate: Fate, head: int) -> Entry:
        """Return an entry as the database is to take it. What continues one that is not there continues the head."""

        def place(number: int) -> int:
            if number > self._copy.base or (number == ROOT and not self._copy.is_blind):
                return self.places.get(number, head) if number else ROOT
            return head if self._copy.is_blind else number if self._is_based else ROOT

        body, turn = entry.body, entry.turn and (fate.number or self.places[entry.turn])
        if isinstance(body, TurnChange) and body.parent:
            body = body.model_copy(update={"parent": place(body.parent)})
        numbers = {"seq": self.places[entry.seq], "parent": place(entry.parent or ROOT) or None}
        turn = None if fate.number and not fate.is_ours else turn
        return entry.model_copy(update={**numbers, "turn": turn, "conversation": self._target, "body": body})

    async def _adopt(self, entries: Sequence[Entry], moved: tuple[Entry, ...], fates: dict[int, Fate]) -> None:
        gist = _gist([(entry.seq, entry.created_at) for entry in entries])
        own = IdempotencyKey.of(f"spool {self._copy.id}", gist, None)
        keys = [
            (StoredKey.of_use(key), self.places[key.first], self.places[key.last])
            for fate in fates.values()
            if (key := fate.key) is not None
        ]
        lease = self._lease
        if lease is not None:
            is_here = fates.get(lease.turn, Fate()).number or self.places.get(lease.turn)
            lease = lease if is_here == lease.turn and self._target == lease.conversation else None
        adopt = Adopt(entries=moved, key=own, keys=tuple(keys), lease=lease)
        try:
            self.written = (await self._database.adopt(self._copy.scope, self._target, adopt)).entries
        except errors.ConversationBusy:
            # Text of the running turn arrived there that nobody heard of: whoever takes that turn up there sees to it.
            running = TurnState.RUNNING
            self._given_up |= {fate.number for fate in fates.values() if fate.is_ours and fate.state is running}
            raise errors.ImportConflict from None
        except errors.InvalidParent:
            # What it continues is not on a branch there: another conversation has this id by now.
            if not self._is_based:
                raise
            self._is_based = False
            raise errors.ImportConflict from None


class Drains:
    """The ways back of all conversations. `moved` tells for each place how often its entries got other numbers by being
    drained, and the last time which; `parked` are turns that wait in the spool to act on the world; `drained` is told
    of conversations that have left."""

    def __init__(
        self, database: RuledStore, spool: SpoolFile, memory: Memory, drained: Callable[[Scope, str], None]
    ) -> None:
        self._database = database
        self._spool = spool
        self._memory = memory
        self._drained = drained
        self.moved: dict[Place, tuple[int, dict[int, int]]] = {}
        self.parked: dict[Place, Lease] = {}

    async def drain(self, copy: Copy) -> bool:
        """Bring a copy into the database; return whether it is there, or a turn that runs must end before."""
        async with copy.lock:
            if self._spool.held.get(copy.place) is not copy:
                return True
            turns = [turn for turn in await self._spool.turns(*copy.place) if copy.runs(turn.number)]
            lease = self.parked.get(copy.place)
            if lease is None and any(turn.state is TurnState.RUNNING for turn in turns):
                if copy.lease is not None:  # nobody may take up meanwhile what goes on here
                    with suppress(errors.LeaseLost):
                        await self._database.extend(copy.lease, KEPT_FOR)
                return False
            draining = Draining(self._database, self._spool, copy, lease)
            await draining.run()
            await self._spool.remove(copy)
            moved = {here: there for here, there in draining.places.items() if here != there}
            if moved:
                self._memory.forget(*copy.place)
                self.moved[copy.place] = (self.moved.get(copy.place, (0, {}))[0] + 1, moved)
            else:
                self._memory.learn("newest", *copy.place, (), draining.written)
                self._memory.let_go(*copy.place, lease)
        self._drained(*copy.place)
        return True

    async def drain_all(self) -> bool:
        """Drain every copy, some at a time because they share commits; return whether the spool is empty."""
        limit, copies = asyncio.Semaphore(DRAINED_AT_ONCE), list(self._spool.held.values())

        async def drain(copy: Copy) -> None:
            async with limit:
                await self.drain(copy)

        outcomes = await asyncio.gather(*map(drain, copies), return_exceptions=True)
        for copy, failure in zip(copies, outcomes, strict=True):
            if isinstance(failure, errors.ThreadkeepError) and not isinstance(failure, OUTAGES):
                logger.warning("conversation %s stays in the spool, and is tried again: %s", copy.id, failure)
            elif failure is not None:
                raise failure
        if self._spool.held:
            return False
        await self._spool.purge(timedelta(0))
        return True

    async def leave(self, turn: Turn) -> None:
        """Let a turn go to the database as it is: what was written of its answer is a message that was cut off."""
        place = (turn.scope, turn.conversation)
        lease = await self._spool.take(turn, "nobody", timedelta(0))
        draft = (await self._spool.log(*place, Cursor(seq=(await self._spool.get(*place)).entries))).draft
        if draft is not None:
            cut = Message(id=draft.message, role=Role.ASSISTANT, content=draft.text, status=MessageStatus.INTERRUPTED)
            await self._spool.append(*place, Append(bodies=(cut,), lease=lease))
        self.parked[place] = lease


def _identity(entry: Entry) -> object:
    """Return by what an entry is found again: a message by its id, others by when they were written."""
    body = entry.body
    return body.id if isinstance(body, Message) else (entry.created_at, body.kind, getattr(body, "state", None))


def _gist(parts: Sequence[object]) -> str:
    return blake2b(json.dumps(parts, default=str).encode(), digest_size=16).hexdigest()


async def log_after(store: Store, scope: Scope, conversation: str, after: int) -> list[Entry]:
    """Return the log behind an entry."""
    found: list[Entry] = []
    while page := (await store.log(scope, conversation, Cursor(seq=after), limit=MAX_LIMIT)).entries:
        found += page
        after = page[-1].seq
    return found
