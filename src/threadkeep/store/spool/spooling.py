"""A store around the database and a spool: in an outage what people send is kept on this instance's disk.

While the database answers, every verb goes there. When it does not, or not in time, a conversation is copied into the
spool as far as it is known here, and goes on there with every promise of a store; when the database is back it is
drained (`draining`), and from then on its verbs go there again.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar, cast

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import ConversationBusy, ConversationNotFound, KeyReused, SpoolFull, StoreError
from threadkeep.store.base import MAX_LIMIT, Store
from threadkeep.store.notify_channel import NotifyChannel
from threadkeep.store.spool.copies import BLIND, Copy, Key
from threadkeep.store.spool.draining import Draining, Spool
from threadkeep.store.spool.keyring import RememberingKeyRing
from threadkeep.store.spool.memory import Memory
from threadkeep.store.spool.outage import OUTAGES, OutageWatch
from threadkeep.store.values import (
    Append,
    Appended,
    Begin,
    Begun,
    ConversationPage,
    Created,
    HitPage,
    Outage,
    SpoolState,
    Statistics,
)

VerbT = TypeVar("VerbT", bound=Callable[..., Any])
_NUMBERS = ("head", "after", "at", "before")
"""Arguments with a name that are numbers of entries."""


@dataclass(frozen=True, kw_only=True)
class SpoolLimits:
    """How an outage is met: after how many seconds a database that does not answer is taken for away, how much text the
    spool may hold, and whether turns are answered meanwhile or wait for the end of it."""

    patience: float = 3.0
    max_bytes: int = 1024**3
    answers: bool = True


def _reads(verb: VerbT) -> VerbT:
    """Return a verb that reads a conversation: of the database or, in an outage, what is known of it."""
    name = verb.__name__

    async def read(self: "SpoolingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        return await self._read(name, scope, conversation, args, kwargs)

    return cast(VerbT, read)


def _writes(verb: VerbT) -> VerbT:
    """Return a verb that writes to a conversation, wherever it is."""
    name = verb.__name__

    async def write(self: "SpoolingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        return await self._write(name, scope, conversation, args, kwargs)

    return cast(VerbT, write)


def _asks(verb: VerbT) -> VerbT:
    """Return a verb that only the database has, and that may take long."""
    name = verb.__name__

    async def ask(self: "SpoolingStore", *args: Any, **kwargs: Any) -> Any:
        return await self._watch.ask(lambda: getattr(self.database, name)(*args, **kwargs), is_slow=True)

    return cast(VerbT, ask)


class SpoolingStore(Store):
    """Passes everything on to the `database`, and in an outage to the `spool`; `drained` is told of conversations that
    went from one to the other."""

    def __init__(self, database: Store, spool: Spool, clock: Clock, ids: IdSource, limits: SpoolLimits) -> None:
        self.database = database
        self.spool = spool
        self._limits = limits
        self._ids = ids
        self._watch = OutageWatch(database, limits.patience, clock, self._drain_all)
        self.keyring = RememberingKeyRing(database.keyring, self._watch.ask)
        self.audit = database.audit
        self.drained: Callable[[Scope, str], None] = lambda scope, conversation: None
        self._memory = Memory()
        self._copies: dict[Key, Copy] = {}
        self._copying = asyncio.Lock()
        self._moves: dict[Key, int] = {}
        self._owners: set[str] = set()
        self._bytes = 0

    @classmethod
    async def open(
        cls,
        database: Store,
        spool: Spool,
        clock: Clock,
        ids: IdSource,
        limits: SpoolLimits,
        away: StoreError | None = None,
    ) -> Self:
        """Take up what an earlier process has left in the spool; `away` is why the database cannot be reached."""
        store = cls(database, spool, clock, ids, limits)
        for tenant in await spool.tenants():
            store._bytes += (await spool.statistics(tenant)).bytes
            after: str | None = None
            while True:
                page = await spool.list_tenant(tenant, limit=MAX_LIMIT, after=after)
                for item in page.items:
                    await store._take_over(await spool.get(item.scope, item.id))
                if (after := page.next) is None:
                    break
        if away is not None:
            store._watch.fall(away)
        elif store._copies:
            store._watch.look()
        return store

    async def _take_over(self, kept: Conversation) -> None:
        copy = Copy.of(kept)
        if copy.last < copy.base:  # the process ended while it was made, before anything was acknowledged
            await self.spool.delete(copy.scope, copy.id)
        else:
            self._copies[copy.place] = copy

    async def close(self) -> None:
        await self._watch.close()
        await self.database.close()
        await self.spool.close()

    async def ping(self) -> None:
        try:
            await self._watch.ask(self.database.ping)
        except OUTAGES:
            await self.spool.ping()

    def notify_channel(self) -> NotifyChannel | None:
        return self.database.notify_channel()

    def outage(self) -> Outage | None:
        if self._watch.since is None:
            return None
        spooled = [copy for copy in self._copies.values() if copy.is_spooled]
        return Outage(
            since=self._watch.since,
            is_down=self._watch.is_down,
            conversations=len(spooled),
            entries=sum(copy.last - copy.base for copy in spooled),
            bytes=self._bytes,
        )

    def spool_state(self, scope: Scope, conversation: str) -> SpoolState:
        place = (scope.tenant, scope.user, conversation)
        copy = self._copies.get(place)
        return SpoolState(copy is not None and copy.is_spooled, self._moves.get(place, 0))

    # Where a conversation is

    async def _copied(self, scope: Scope, conversation: str, outage: StoreError, *, is_sent: bool = False) -> Copy:
        """Return the copy of a conversation, made from what is known of it. What is sent to one that is not known here
        is kept all the same; it is not shown."""
        place = (scope.tenant, scope.user, conversation)
        async with self._copying:
            if (copy := self._copies.get(place)) is not None:
                return copy
            if (known := self._memory.copy(scope, conversation)) is not None:
                copy, imported = known
                copy.answers = copy.answers and self._limits.answers
                imported = replace(imported, new=_marked(imported.new, copy))
                self._make_room(sum(len(entry.model_dump_json()) for entry in imported.entries))
                await self.spool.import_entries(scope, imported)
            elif is_sent:
                copy = Copy(scope=scope, id=conversation, shift=BLIND, base=BLIND, last=BLIND, answers=False)
                await self.spool.create(scope, _marked(NewConversation(id=conversation), copy))
            else:
                raise outage
            self._copies[place] = copy
            return copy

    def _make_room(self, size: int) -> None:
        """Count what is to be kept; `SpoolFull` if that is too much."""
        if self._bytes + size > self._limits.max_bytes:
            raise SpoolFull
        self._bytes += size

    def _holder(self, holder: Lease | Turn) -> Copy | None:
        """Return the copy that a turn runs in; none if it runs in the database."""
        copy = self._copies.get((holder.scope.tenant, holder.scope.user, holder.conversation))
        number = holder.turn if isinstance(holder, Lease) else holder.number
        return copy if copy is not None and number > copy.base else None

    async def _read(self, verb: str, scope: Scope, conversation: str, args: Any, kwargs: Any) -> Any:
        place = (scope.tenant, scope.user, conversation)
        while True:
            copy = self._copies.get(place)
            if copy is None:
                try:
                    answer = await self._watch.ask(
                        lambda: getattr(self.database, verb)(scope, conversation, *args, **kwargs)
                    )
                except OUTAGES as error:
                    copy = await self._copied(scope, conversation, error)
                else:
                    self._memory.learn(scope, conversation, answer)
                    return answer
            try:
                return await self._in_copy(copy, verb, args, kwargs)
            except ConversationNotFound:
                if self._copies.get(place) is copy:
                    raise

    async def _write(self, verb: str, scope: Scope, conversation: str, args: Any, kwargs: Any) -> Any:
        place = (scope.tenant, scope.user, conversation)
        while True:
            copy = self._copies.get(place)
            if copy is None:
                try:
                    answer = await self._watch.ask(
                        lambda: getattr(self.database, verb)(scope, conversation, *args, **kwargs)
                    )
                except OUTAGES as error:
                    copy = await self._copied(scope, conversation, error, is_sent=verb in ("begin", "append"))
                else:
                    self._memory.learn(scope, conversation, answer)
                    return answer
            elif not self._watch.is_down:
                # What is there comes first; only a turn that runs, or another outage, leaves this one behind it here.
                with suppress(ConversationBusy, *OUTAGES):
                    await self._drain(copy)
            async with copy.lock:
                if self._copies.get(place) is copy:
                    return await self._write_in(copy, verb, args, kwargs)

    async def _write_in(self, copy: Copy, verb: str, args: Any, kwargs: Any) -> Any:
        for sent in args:
            self._make_room(_size(sent))
        answer = await self._in_copy(copy, verb, args, kwargs)
        if isinstance(answer, Appended | Begun):
            copy.note(answer.entries)
        elif isinstance(answer, Conversation):
            copy.last = answer.entries
        return answer

    async def _in_copy(self, copy: Copy, verb: str, args: Any, kwargs: Any) -> Any:
        inside = {name: copy.into(value) if name in _NUMBERS else value for name, value in kwargs.items()}
        return copy.out(await getattr(self.spool, verb)(copy.scope, copy.id, *map(copy.into, args), **inside))

    # Draining

    async def _drain(self, copy: Copy) -> bool:
        """Bring a copy into the database; return whether it is there, or a turn that runs must end before."""
        async with copy.lock:
            if self._copies.get(copy.place) is not copy:
                return True
            turns = await self.spool.turns(copy.scope, copy.id)
            if any(turn.state is TurnState.RUNNING for turn in turns):
                return False
            draining = Draining(self.database, self.spool, copy)
            await draining.run()
            await self.spool.delete(copy.scope, copy.id)
            del self._copies[copy.place]
            self._memory.learn(copy.scope, copy.id, tuple(draining.written))
            if draining.is_moved:
                self._moves[copy.place] = self._moves.get(copy.place, 0) + 1
        self.drained(copy.scope, copy.id)
        return True

    async def _drain_all(self) -> bool:
        """Drain every copy, the oldest first; return whether the spool is empty."""
        for copy in list(self._copies.values()):
            with suppress(ConversationBusy):
                await self._drain(copy)
        if self._copies:
            return False
        self._bytes = 0
        await self.spool.purge(timedelta(0))
        return True

    # Conversations

    async def create(
        self, scope: Scope, new: NewConversation, *, key: IdempotencyKey | None = None, at: datetime | None = None
    ) -> Created:
        if key is not None:
            # Under a key the id must be the same whether or not a cut write arrived.
            new = new if new.id else new.model_copy(update={"id": self._ids()})
            if (copy := self._made_by(scope, key)) is not None:
                return Created(conversation=await self.get(scope, copy.id), replayed=True)
        try:
            created = await self._watch.ask(lambda: self.database.create(scope, new, key=key, at=at))
        except OUTAGES:
            return await self._create_here(scope, new, key, at)
        self._memory.learn(scope, created.conversation.id, created)
        return created

    def _made_by(self, scope: Scope, key: IdempotencyKey) -> Copy | None:
        """Return the conversation that was begun in the spool with this key."""
        for copy in self._copies.values():
            if copy.key is not None and copy.scope == scope and copy.key[0] == key.name(scope).hex():
                if copy.key[1] != key.digest.hex():
                    raise KeyReused
                return copy
        return None

    async def _create_here(
        self, scope: Scope, new: NewConversation, key: IdempotencyKey | None, at: datetime | None
    ) -> Created:
        named = (key.name(scope).hex(), key.digest.hex()) if key else None
        copy = Copy(scope=scope, id=new.id or self._ids(), answers=self._limits.answers, is_new=True, key=named)
        self._make_room(len(new.model_dump_json()))
        async with self._copying:
            kept = await self.spool.create(scope, _marked(new.model_copy(update={"id": copy.id}), copy), key=key, at=at)
            if not kept.replayed:
                self._copies[copy.place] = copy
        created: Created = copy.out(kept)
        return created

    async def list(
        self,
        scope: Scope,
        *,
        assistant: str | None = None,
        status: Status | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> ConversationPage:
        wanted: dict[str, Any] = {"assistant": assistant, "status": status, "limit": limit}
        try:
            return await self._watch.ask(lambda: self.database.list(scope, **wanted, after=after))
        except OUTAGES:
            page = await self.spool.list(scope, **wanted)
        here = {item.id: self._copies[scope.tenant, scope.user, item.id].out(item) for item in page.items}
        for known in self._memory.conversations(scope):
            if assistant in (None, known.assistant) and status in (None, known.status):
                here.setdefault(known.id, known.model_copy(update={"system": None, "metadata": {}, "incomplete": True}))
        newest = sorted(here.values(), key=lambda item: item.updated_at, reverse=True)
        return ConversationPage(items=tuple(newest[:limit]))

    async def delete(self, scope: Scope, conversation: str, **options: Any) -> None:
        if (copy := self._copies.get((scope.tenant, scope.user, conversation))) and not self._watch.is_down:
            await self._drain(copy)
        await self._watch.ask(lambda: self.database.delete(scope, conversation, **options))
        self._memory.forget(scope, conversation)

    # Turns

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        if append.lease is None:
            appended: Appended = await self._write("append", scope, conversation, (append,), {})
            return appended
        if (copy := self._holder(append.lease)) is not None:
            written: Appended = await self._write_in(copy, "append", (append,), {})
            return written
        done = await self._watch.ask(lambda: self.database.append(scope, conversation, append))
        self._memory.learn(scope, conversation, done)
        return done

    async def begin(self, scope: Scope, conversation: str, begin: Begin) -> Begun:
        self._owners.add(begin.owner)
        begun: Begun = await self._write("begin", scope, conversation, (begin,), {})
        return begun

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        self._owners.add(owner)
        copy = self._copies.get((scope.tenant, scope.user, conversation))
        if copy is not None and not (self._watch.is_down and copy.answers):
            return None  # it is started in the database, when it is there
        begun: Begun | None = await self._write("start", scope, conversation, (owner, lease_for), {})
        return begun

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        self._owners.add(owner)
        if (copy := self._holder(turn)) is None:
            return await self._watch.ask(lambda: self.database.take(turn, owner, lease_for))
        async with copy.lock:
            lease: Lease = copy.out(await self.spool.take(copy.into(turn), owner, lease_for))
            return lease

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        if (copy := self._holder(lease)) is not None:
            await self.spool.extend(copy.into(lease), lease_for)
        else:
            await self._watch.ask(lambda: self.database.extend(lease, lease_for))

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        if (copy := self._holder(lease)) is not None:
            await self.spool.write(copy.into(lease), message, offset, text)
        else:
            await self._watch.ask(lambda: self.database.write(lease, message, offset, text))

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        turns: list[Turn] = []
        with suppress(*OUTAGES):
            turns += await self._watch.ask(lambda: self.database.expired(lease_for, limit=limit))
        if self._copies:
            left = {turn.number for turn in await self.spool.expired(lease_for, limit=limit)}
            for turn in await self.spool.expired(timedelta(0), limit=limit):
                copy = self._copies[turn.scope.tenant, turn.scope.user, turn.conversation]
                # Of the spool only this process has turns; one that another ran is left, whatever its lease says.
                is_left = turn.number in left or turn.owner not in self._owners
                if is_left if turn.state is TurnState.RUNNING else self._watch.is_down and copy.answers:
                    turns.append(copy.out(turn))
        return tuple(turns[:limit])

    # Across conversations

    async def search(self, scope: Scope, text: str, **options: Any) -> HitPage:
        try:
            return await self._watch.ask(lambda: self.database.search(scope, text, **options), is_slow=True)
        except OUTAGES:
            page = await self.spool.search(scope, text, **{**options, "after": None})
        copies = [self._copies[scope.tenant, scope.user, hit.conversation] for hit in page.items]
        return HitPage(items=tuple(copy.out(hit) for copy, hit in zip(copies, page.items, strict=True)))

    async def statistics(self, tenant: str, **options: Any) -> Statistics:
        try:
            return await self._watch.ask(lambda: self.database.statistics(tenant, **options), is_slow=True)
        except OUTAGES:
            return await self.spool.statistics(tenant, **options)

    get = _reads(Store.get)
    tree = _reads(Store.tree)
    entry = _reads(Store.entry)
    newest = _reads(Store.newest)
    before = _reads(Store.before)
    after = _reads(Store.after)
    count = _reads(Store.count)
    log = _reads(Store.log)
    state = _reads(Store.state)
    summary = _reads(Store.summary)
    turns = _reads(Store.turns)
    related = _reads(Store.related)
    update = _writes(Store.update)
    choose_head = _writes(Store.choose_head)
    withdraw = _writes(Store.withdraw)
    restore = _asks(Store.restore)
    purge = _asks(Store.purge)
    import_entries = _asks(Store.import_entries)
    adopt = _asks(Store.adopt)
    list_tenant = _asks(Store.list_tenant)
    users = _asks(Store.users)
    tenants = _asks(Store.tenants)


def _marked(new: NewConversation, copy: Copy) -> NewConversation:
    """Return a conversation as the spool keeps it."""
    return new.model_copy(update={"metadata": new.metadata | copy.mark})


def _size(sent: Any) -> int:
    """Return about how much a verb wants to have kept."""
    match sent:
        case Begin(message=message):
            return 0 if message is None else len(message.model_dump_json())
        case Append(bodies=bodies):
            return sum(len(body.model_dump_json()) for body in bodies)
        case _:
            return 0
