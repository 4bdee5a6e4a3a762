"""A store around the database and a spool: in an outage what people send is kept on this instance's disk.

Verbs go to the database and, when it does not answer, to the spool. A conversation is copied there as far as it is
known here, and goes on with every promise of a store; when the database is back it is drained (`draining`), and from
then on its verbs go there again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast

from threadkeep import errors
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.hosting import SpoolSettings
from threadkeep.store import values
from threadkeep.store.base import Operations, Store
from threadkeep.store.caps import Caps
from threadkeep.store.changes import Change, NotifyChannel
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import WAITS, key_use
from threadkeep_postgres.spool.draining import Drains
from threadkeep_postgres.spool.memory import Memory, Remembering, unknown
from threadkeep_postgres.spool.outage import OUTAGES, OutageWatch
from threadkeep_postgres.spool.spool_file import WRITES, Copy, Holding, SpoolFile, damage_in

VerbT = TypeVar("VerbT", bound=Callable[..., Any])
PING_SECONDS = 1.0
NOT_HERE = "The database is away, and this part of the conversation is not known here."
NOT_YET = "What was sent to this conversation is not in the database yet; try again later."
_UNTAUGHT = frozenset({"tree", "entry", "count", "state", "summary", "related", "turns", "extend"})
"""Verbs whose answers are not remembered."""


def _of_one(verb: VerbT) -> VerbT:
    """Return a verb about one conversation, wherever that is."""

    async def do(self: "SpoolingStore", *args: Any, **kwargs: Any) -> Any:
        return await self._do(verb.__name__, args, kwargs)

    return cast(VerbT, do)


def _of_all(verb: VerbT) -> VerbT:
    """Return a verb that only the database has."""

    async def ask(self: "SpoolingStore", *args: Any, **kwargs: Any) -> Any:
        return await self._watch.ask(getattr(self.database, verb.__name__), *args, **kwargs)

    return cast(VerbT, ask)


class SpoolingStore(Store, Operations):
    """Passes everything on to the `database`, and in an outage to the `spool`, from which it is drained afterwards."""

    def __init__(
        self, database: RuledStore, spool: SpoolFile, clock: Clock, ids: IdSource, limits: SpoolSettings
    ) -> None:
        self.database = database
        self.spool = spool
        self._clock = clock
        self._ids = ids
        self._memory = Memory()
        self._answers = limits.answers
        self._making = asyncio.Lock()
        self.drains = Drains(database, spool, self._memory, lambda *place: self.tell(Change(*place)))
        self._watch = OutageWatch(database, clock, self.drains.drain_all, lambda: str(self.outage()))
        self.keyring = cast(Any, Remembering(database.keyring, self._watch.ask))
        self.audit = database.audit
        self.usage, self.notes = database.usage, database.notes
        self.files = database.files and cast(Any, Remembering(database.files, self._watch.ask))
        self.unreached, self.caps = database.unreached, database.caps
        self.operations = self
        spool.caps, spool.most = Caps(queued_turns=database.caps.queued_turns), limits.max_bytes

    async def take_up(self, away: errors.StoreError | None) -> None:
        """Take up what an earlier process has left in the spool; `away` is why the database cannot be reached."""
        await self.spool.load()
        if away is not None:
            self._watch.fall(away)
        elif self.spool.held:
            self._watch.look()

    async def close(self) -> None:
        await self._watch.close()
        await self.database.close()
        await self.spool.close()

    async def drain(self) -> int:
        """Write everything to the database now, by a process that runs no turns; return how many conversations."""
        spooled = self.spool.spooled()
        for copy in list(self.spool.held.values()):
            for turn in await self.spool.turns(*copy.place):
                if turn.state is TurnState.RUNNING and copy.runs(turn.number):
                    await self.drains.leave(turn)
            await self._drain(copy)
        return len(spooled)

    async def _drain(self, copy: Copy) -> bool:
        return await self._watch.ask(self.drains.drain, copy)

    async def ping(self) -> None:
        try:
            # A slow database is not an outage yet. Readiness must not wait for it: messages are accepted meanwhile.
            async with asyncio.timeout(PING_SECONDS):
                await self._watch.ask(self.database.ping)
        except (TimeoutError, *OUTAGES):
            await self.spool.ping()

    async def release(self) -> None:
        await self.database.release()

    def notify_channel(self) -> NotifyChannel | None:
        return self.database.notify_channel()

    def outage(self) -> values.Outage | None:
        if self._watch.since is None:
            return None
        spooled = self.spool.spooled()
        return values.Outage(
            since=self._watch.since,
            is_down=self._watch.is_down,
            conversations=len(spooled),
            entries=sum(copy.last - copy.base for copy in spooled),
            bytes=sum(copy.bytes for copy in self.spool.held.values()),
        )

    def damage(self) -> str | None:
        return damage_in(self.spool.folder)

    def spool_state(self, scope: Scope, conversation: str) -> values.SpoolState:
        copy = self.spool.find(scope, conversation)
        moved = self.drains.moved.get((scope, conversation), (0, {})) if self.drains.moved else (0, {})
        is_partial = copy is not None and self._watch.is_down
        return values.SpoolState(copy is not None and copy.is_spooled, moved[0], is_partial, moved[1])

    # One conversation

    async def _do(self, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Do something in the database, or in the spool if the conversation is there or the database is away."""
        scope, conversation, turn = _place(args)
        while True:
            copy = self._holder(scope, conversation, turn) if self.spool.held else None
            if copy is None:
                try:
                    answer = await self._watch.ask(getattr(self.database, verb), *args, **kwargs)
                except errors.LeaseLost:
                    self._memory.let_go(scope, conversation)
                    raise
                except OUTAGES as error:
                    is_sent = not turn and verb in ("begin", "append")
                    copy = await self._hold(scope, conversation, error, is_sent=is_sent)
                    self._watch.look()  # the database may have come back meanwhile
                    if turn and not copy.runs(turn):
                        raise
                else:
                    if verb not in _UNTAUGHT:
                        self._memory.learn(verb, scope, conversation, args, answer)
                    copy = self._holder(scope, conversation, turn) if verb in WRITES and self.spool.held else None
                    if copy is None or await self.spool.discard(copy):
                        return answer
                    # It went to the spool meanwhile: that shall have this, too, and the drain finds that it is there.
            elif verb in WRITES and not (self._watch.is_down or turn):
                # What is there comes first; only a turn that runs, or another outage, leaves this one behind it here.
                with suppress(errors.ConversationBusy, *OUTAGES):
                    await self._drain(copy)
            try:
                if turn or verb not in WRITES:
                    return await self.spool.do(copy, verb, args, kwargs)
                async with copy.lock:
                    if self.spool.find(scope, conversation) is copy:
                        return await self.spool.do(copy, verb, self._waiting(copy, args), kwargs)
            except (errors.EntryNotFound, errors.InvalidParent):
                if copy.is_new:
                    raise
                raise errors.StoreUnavailable(NOT_HERE) from None
            except (errors.ConversationNotFound, errors.LeaseLost):
                async with copy.lock:  # it may just be leaving
                    if self.spool.find(scope, conversation) is copy:
                        raise

    async def _hold(self, scope: Scope, conversation: str, outage: errors.StoreError, *, is_sent: bool) -> Copy:
        """Return the copy of a conversation, made from what is known of it. What is sent to one that is not known here
        is kept all the same, unless it is known to be somebody else's."""
        async with self._making:
            if (copy := self.spool.find(scope, conversation)) is not None:
                return copy
            known = self._memory.find(scope, conversation)
            held = known.hold(scope) if known is not None else None
            if held is None:
                if not is_sent:
                    raise outage
                same = [each for each in self.spool.held.values() if each.id == conversation and not each.is_blind]
                owners = {each.scope.user for each in same if each.scope.tenant == scope.tenant}
                if {*owners, self._memory.owner(scope.tenant, conversation)} - {None, scope.user}:
                    raise errors.ConversationNotFound
                held = unknown(scope, conversation)
            held.copy.answers = held.copy.answers and self._answers
            await self.spool.hold(held)
            return held.copy

    def _holder(self, scope: Scope, conversation: str, turn: int = 0) -> Copy | None:
        """Return the copy of a conversation, if the turn in question runs in it."""
        copy = self.spool.find(scope, conversation)
        return copy if copy is not None and (not turn or copy.runs(turn)) else None

    def _waiting(self, copy: Copy, args: Sequence[Any]) -> Sequence[Any]:
        """Return how a turn begins in the spool: it waits if too little is known, or if the database may have it."""
        if not isinstance(begin := args[-1], values.Begin):
            return args
        if copy.is_blind and begin.parent is not None:
            raise errors.StoreUnavailable(NOT_HERE)
        head, known = None if copy.is_blind else begin.expected_head, self._memory.find(*copy.place)
        may_be_there = known is not None and known.may_have(copy.scope, begin)
        waits = begin.waits or not copy.answers or may_be_there
        return (*args[:-1], replace(begin, expected_head=head, waits=waits))

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> values.Begun | None:
        copy = self.spool.find(scope, conversation)
        if copy is not None and not await self._may_start(copy):
            return None  # it is started in the database, when it is there
        begun: values.Begun | None = await self._do("start", (scope, conversation, owner, lease_for), {})
        return begun

    async def _may_start(self, copy: Copy) -> bool:
        """Whether the next queued turn of a copy may begin in the spool: not one that the database has, or may have."""
        turns = await self.spool.turns(*copy.place)
        if not self._watch.is_down or not copy.answers or not turns or turns[0].number <= copy.base:
            return False
        body = (await self.spool.entry(*copy.place, turns[0].number)).body
        return isinstance(body, TurnChange) and turns[0].state is TurnState.QUEUED and body.detail != WAITS

    async def withdraw(self, scope: Scope, conversation: str, turn: int) -> None:
        copy = self.spool.find(scope, conversation)
        if copy is not None and not copy.runs(turn):
            raise errors.StoreUnavailable(NOT_HERE)
        await self._do("withdraw", (scope, conversation, turn), {})

    async def reach(self, lease: Lease) -> None:
        copy = self._holder(lease.scope, lease.conversation, lease.turn)
        if copy is None:
            return
        # What acts on the world waits until the database has said that nobody else did: the turn goes there as it is.
        self.drains.parked[copy.place] = lease
        try:
            while self.spool.held.get(copy.place) is copy:
                self._watch.look()
                await copy.left.wait()
        finally:
            self.drains.parked.pop(copy.place, None)

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        turns: list[Turn] = []
        with suppress(*OUTAGES):
            found = await self._watch.ask(self.database.expired, lease_for, limit=limit)
            # What is in the spool comes first: it may be how one of these turns goes on, or ended.
            turns += [turn for turn in found if self.spool.find(turn.scope, turn.conversation) is None]
        now = self._clock()
        for copy in list(self.spool.held.values()):
            for turn in (await self.spool.turns(*copy.place))[:1]:
                # Of the spool only this process has turns; one that another ran is left, whatever its lease says.
                is_held = turn.until is not None and now < turn.until < now + 2 * lease_for
                is_left = turn.state is TurnState.RUNNING and (turn.owner in self.spool.gone or not is_held)
                if (is_left and copy.runs(turn.number)) or await self._may_start(copy):
                    turns.append(turn)
        return tuple(turns[:limit])

    # Conversations

    async def create(
        self, scope: Scope, new: NewConversation, *, key: IdempotencyKey | None = None, **options: Any
    ) -> values.Created:
        # The id must be the same whether or not a write that was cut has arrived.
        named = new if new.id else new.model_copy(update={"id": self._ids()})
        if (copy := self._made_by(scope, key)) is not None:
            return values.Created(conversation=await self.get(scope, copy.id), replayed=True)
        try:
            created = await self._watch.ask(self.database.create, scope, named, key=key, **options)
        except OUTAGES:
            use = key_use(scope, key)
            copy = Copy(scope=scope, id=named.id or "", answers=self._answers, is_new=True, key=use)
            async with self._making:
                await self.spool.hold(Holding(copy=copy, new=named, created_at=options.get("at")))
            self._watch.look()
            return values.Created(conversation=await self.get(scope, named.id or ""))
        self._memory.learn("create", scope, created.conversation.id, (), created)
        return created

    def _made_by(self, scope: Scope, key: IdempotencyKey | None) -> Copy | None:
        """Return the conversation that was begun here with this key."""
        use = key_use(scope, key)
        for copy in self.spool.held.values():
            if use and copy.key and copy.scope == scope and copy.key.name == use.name:
                if copy.key != use:
                    raise errors.KeyReused
                return copy
        return None

    async def list(
        self, whose: Scope | str, where: values.ListFilter = values.EVERY, *, limit: int = 20, after: str | None = None
    ) -> values.ConversationPage:
        try:
            return await self._watch.ask(self.database.list, whose, where, limit=limit, after=after)
        except OUTAGES:
            if isinstance(whose, str):
                raise
            page = await self.spool.list(whose, where, limit=limit)
        known = (each.listed() for each in self._memory.conversations(whose) if where.accepts(each))
        here = {item.id: item.model_copy(update={"incomplete": True}) for item in (*known, *page.items)}
        newest = sorted(here.values(), key=lambda item: item.updated_at, reverse=True)
        return values.ConversationPage(items=tuple(newest[:limit]))

    async def delete(self, scope: Scope, conversation: str, **options: Any) -> None:
        copy = self.spool.find(scope, conversation)
        if copy is not None and not (not self._watch.is_down and await self._drain(copy)):
            raise errors.StoreUnavailable(NOT_YET)
        await self._watch.ask(self.database.delete, scope, conversation, **options)
        self._memory.forget(scope, conversation)

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        removed = await self._watch.ask(self.database.purge, kept_for, owner=owner)
        if owner is not None:
            self._memory.forget(owner)
            await self.spool.erase(owner)
        return removed

    async def search(self, scope: Scope, text: str, **options: Any) -> values.HitPage:
        try:
            return await self._watch.ask(self.database.search, scope, text, **options)
        except OUTAGES:
            return await self.spool.search(scope, text, **{**options, "after": None})

    get = _of_one(Store.get)
    snapshot = _of_one(Store.snapshot)
    entry = _of_one(Store.entry)
    newest = _of_one(Store.newest)
    after = _of_one(Store.after)
    count = _of_one(Store.count)
    log = _of_one(Store.log)
    state = _of_one(Store.state)
    summary = _of_one(Store.summary)
    related = _of_one(Store.related)
    turns = _of_one(Store.turns)
    update = _of_one(Store.update)
    choose_head = _of_one(Store.choose_head)
    append = _of_one(Store.append)
    begin = _of_one(Store.begin)
    take = _of_one(Store.take)
    extend = _of_one(Store.extend)
    write = _of_one(Store.write)
    restore = _of_all(Store.restore)
    import_entries = _of_all(Store.import_entries)
    adopt = _of_all(Store.adopt)
    statistics = _of_all(Operations.statistics)
    users = _of_all(Operations.users)
    owner = _of_all(Operations.owner)
    tenants = _of_all(Operations.tenants)


def _place(args: Sequence[Any]) -> tuple[Scope, str, int]:
    """Return which conversation a verb is about, and the turn that it is for, or 0."""
    about = args[0]
    if type(about) is Scope:
        lease = args[2].lease if type(args[-1]) is values.Append else None
        return about, args[1], lease.turn if lease else 0
    return about.scope, about.conversation, about.turn if isinstance(about, Lease) else about.number
