"""Where a conversation is: verbs go to the database and, when it does not answer or not in time, to the spool.

A conversation is copied into the spool as far as it is known here, and goes on there with every promise of a store;
when the database is back it is drained (`draining`), and from then on its verbs go there again.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar, cast

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.errors import (
    ConversationBusy,
    ConversationNotFound,
    EntryNotFound,
    InvalidParent,
    StoreError,
    StoreUnavailable,
)
from threadkeep.store.base import Store
from threadkeep.store.caps import Caps
from threadkeep.store.notify_channel import NotifyChannel
from threadkeep.store.ruled import RuledStore
from threadkeep.store.spool.copies import BLIND, Copy
from threadkeep.store.spool.kept import KeptConversations
from threadkeep.store.spool.memory import Memory
from threadkeep.store.spool.outage import OUTAGES, OutageWatch, SpoolLimits
from threadkeep.store.spool.remembering import remembering_files, remembering_keys
from threadkeep.store.spool.spool_file import SpoolFile, damage_in, inside
from threadkeep.store.values import (
    EVERY,
    Begin,
    ConversationPage,
    Created,
    HitPage,
    ListFilter,
    Outage,
    SpoolState,
    Statistics,
)

VerbT = TypeVar("VerbT", bound=Callable[..., Any])
PING_SECONDS = 1.0
NOT_HERE = "The database is away, and this part of the conversation is not known here."
NOT_YET = "What was sent to this conversation is not in the database yet; try again later."


def _reads(verb: VerbT) -> VerbT:
    """Return a verb that reads a conversation: of the database or, in an outage, what is known of it."""
    name = verb.__name__

    async def read(self: "PassingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        return await self._read(name, scope, conversation, *args, **kwargs)

    return cast(VerbT, read)


def _writes(verb: VerbT) -> VerbT:
    """Return a verb that writes to a conversation, wherever it is."""
    name = verb.__name__

    async def write(self: "PassingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        return await self._write(name, scope, conversation, args, kwargs)

    return cast(VerbT, write)


def _asks(verb: VerbT) -> VerbT:
    """Return a verb that only the database has, and that may take long."""
    name = verb.__name__

    async def ask(self: "PassingStore", *args: Any, **kwargs: Any) -> Any:
        return await self._watch.ask_patiently(getattr(self.database, name), *args, **kwargs)

    return cast(VerbT, ask)


class PassingStore(Store):
    """Passes everything on to the `database`, and in an outage to the `spool`; `kept` are the conversations there."""

    def __init__(
        self, database: RuledStore, spool: SpoolFile, clock: Clock, ids: IdSource, limits: SpoolLimits
    ) -> None:
        self.database = database
        self.spool = spool
        self._ids = ids
        self._memory = Memory()
        self.kept = KeptConversations(database, spool, limits, self._memory)
        held = lambda: "{} conversations with {} entries".format(*self.kept.amount())  # noqa: E731
        self._watch = OutageWatch(database, limits.patience, clock, self.kept.drain_all, held)
        self.keyring = remembering_keys(database.keyring, self._watch.ask)
        self.audit = database.audit
        self.files = database.files and remembering_files(database.files, self._watch.ask_patiently)
        self.unreached, self.caps = database.unreached, database.caps
        spool.caps = Caps(queued_turns=database.caps.queued_turns)
        self._owners: set[str] = set()

    @classmethod
    async def open(
        cls,
        database: RuledStore,
        spool: SpoolFile,
        clock: Clock,
        ids: IdSource,
        limits: SpoolLimits,
        away: StoreError | None = None,
    ) -> Self:
        """Take up what an earlier process has left in the spool; `away` is why the database cannot be reached."""
        store = cls(database, spool, clock, ids, limits)
        await store.kept.load()
        if away is not None:
            store._watch.fall(away)
        elif store.kept.copies:
            store._watch.look()
        return store

    async def close(self) -> None:
        await self._watch.close()
        await self.database.close()
        await self.spool.close()

    async def drain(self) -> int:
        """Write everything to the database now, by a process that runs no turns; return how many conversations."""
        spooled = [copy for copy in self.kept.copies.values() if copy.is_spooled]
        for copy in list(self.kept.copies.values()):
            await self._drain(copy, is_left=True)
        return len(spooled)

    async def ping(self) -> None:
        try:
            # Who hangs is not away before its time, but what is sent meanwhile is taken: readiness does not wait.
            async with asyncio.timeout(PING_SECONDS):
                await self._watch.ask(self.database.ping)
        except (TimeoutError, *OUTAGES):
            await self.spool.ping()

    async def release(self) -> None:
        await self.database.release()

    def notify_channel(self) -> NotifyChannel | None:
        return self.database.notify_channel()

    def outage(self) -> Outage | None:
        if self._watch.since is None:
            return None
        conversations, entries = self.kept.amount()
        return Outage(
            since=self._watch.since,
            is_down=self._watch.is_down,
            conversations=conversations,
            entries=entries,
            bytes=self.kept.bytes.total(),
        )

    def damage(self) -> str | None:
        return damage_in(self.spool.folder)

    def spool_state(self, scope: Scope, conversation: str) -> SpoolState:
        copy = self.kept.find(scope, conversation)
        moves, moved = (
            self.kept.moved.get((inside(scope).tenant, conversation), (0, {})) if self.kept.moved else (0, {})
        )
        return SpoolState(copy is not None and copy.is_spooled, moves, copy is not None and self._watch.is_down, moved)

    # Where a conversation is

    async def _read(self, verb: str, scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        while True:
            copy = self.kept.find(scope, conversation)
            if copy is None:
                try:
                    answer = await self._watch.ask(getattr(self.database, verb), scope, conversation, *args, **kwargs)
                except OUTAGES as error:
                    copy = await self._hold(scope, conversation, error)
                else:
                    self._memory.learn(scope, conversation, answer)
                    return answer
            try:
                return await self.kept.ask(copy, verb, args, kwargs)
            except EntryNotFound:
                if copy.is_new:
                    raise
                raise StoreUnavailable(NOT_HERE) from None
            except ConversationNotFound:
                if self.kept.find(scope, conversation) is copy:
                    raise

    async def _write(self, verb: str, scope: Scope, conversation: str, args: Any, kwargs: Any) -> Any:
        while True:
            copy = self.kept.find(scope, conversation)
            if copy is None:
                try:
                    answer = await self._watch.ask(getattr(self.database, verb), scope, conversation, *args, **kwargs)
                except OUTAGES as error:
                    copy = await self._hold(scope, conversation, error, is_sent=verb in ("begin", "append"))
                else:
                    self._note(verb, scope, conversation, args, answer)
                    copy = self.kept.find(scope, conversation)
                    if copy is None or await self.kept.discard(copy):
                        return answer
                    # It went to the spool meanwhile: that shall have this, too, and the drain finds that it is there.
            elif not self._watch.is_down:
                # What is there comes first; only a turn that runs, or another outage, leaves this one behind it here.
                with suppress(ConversationBusy, *OUTAGES):
                    await self._drain(copy)
            async with copy.lock:
                if self.kept.find(scope, conversation) is copy:
                    return await self._write_here(copy, verb, args, kwargs)

    async def _write_here(self, copy: Copy, verb: str, args: Any, kwargs: Any) -> Any:
        if verb == "begin":
            args = (self._waiting(copy, *args),)
        try:
            return await self.kept.write(copy, verb, args, kwargs)
        except (EntryNotFound, InvalidParent):
            if copy.is_new:
                raise
            raise StoreUnavailable(NOT_HERE) from None

    def _waiting(self, copy: Copy, begin: Begin) -> Begin:
        """Return how a turn begins in the spool: it waits if too little is known, or if the database may have it."""
        if copy.base == BLIND and begin.parent is not None:
            raise StoreUnavailable(NOT_HERE)
        head = None if copy.is_blind else begin.expected_head
        may_be_there = self._memory.may_have(copy.scope, copy.id, begin.key, begin.message)
        return replace(begin, expected_head=head, waits=begin.waits or not copy.answers or may_be_there)

    def _note(self, verb: str, scope: Scope, conversation: str, args: Any, answer: Any) -> None:
        """Remember what the database made of a write."""
        if verb in ("begin", "append"):
            self._memory.note_sent(scope, conversation, answer, args[0].key)
        else:
            self._memory.learn(scope, conversation, answer, by_us=True)

    async def _hold(self, scope: Scope, conversation: str, outage: StoreError, *, is_sent: bool = False) -> Copy:
        copy = await self.kept.hold(scope, conversation, outage, is_sent=is_sent)
        self._watch.look()  # the database may have come back meanwhile
        return copy

    async def _drain(self, copy: Copy, *, is_left: bool = False) -> bool:
        return await self._watch.ask_patiently(self.kept.drain, copy, is_left=is_left)

    # Conversations

    async def create(
        self,
        scope: Scope,
        new: NewConversation,
        *,
        key: IdempotencyKey | None = None,
        at: datetime | None = None,
        within_caps: bool = True,
    ) -> Created:
        # The id must be the same whether or not a write that was cut has arrived.
        named = new if new.id else new.model_copy(update={"id": self._ids()})
        if key is not None and (copy := self.kept.made_by(scope, key)) is not None:
            return Created(conversation=await self.get(scope, copy.id), replayed=True)
        try:
            created = await self._watch.ask(self.database.create, scope, named, key=key, at=at, within_caps=within_caps)
        except OUTAGES:
            begun = await self.kept.create(scope, named, key, at)
            self._watch.look()
            return begun
        self._memory.learn(scope, created.conversation.id, created)
        return created

    async def list(
        self, scope: Scope, where: ListFilter = EVERY, *, limit: int = 20, after: str | None = None
    ) -> ConversationPage:
        try:
            return await self._watch.ask(self.database.list, scope, where, limit=limit, after=after)
        except OUTAGES:
            page = await self.spool.list(inside(scope), where, limit=limit)
        here = {item.id: copy.out(item) for item in page.items if (copy := self.kept.find(scope, item.id))}
        for known in self._memory.conversations(scope):
            if where.accepts(known):
                here.setdefault(known.id, known.listed().model_copy(update={"incomplete": True}))
        newest = sorted(here.values(), key=lambda item: item.updated_at, reverse=True)
        return ConversationPage(items=tuple(newest[:limit]))

    async def delete(self, scope: Scope, conversation: str, **options: Any) -> None:
        copy = self.kept.find(scope, conversation)
        if copy is not None and not (not self._watch.is_down and await self._drain(copy)):
            raise StoreUnavailable(NOT_YET)
        await self._watch.ask(self.database.delete, scope, conversation, **options)
        self._memory.forget(scope, conversation)

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        removed = await self._watch.ask_patiently(self.database.purge, kept_for, owner=owner)
        if owner is not None:
            self._memory.forget(owner)
            await self.kept.erase(owner)
        return removed

    # Across conversations

    async def search(self, scope: Scope, text: str, **options: Any) -> HitPage:
        try:
            return await self._watch.ask_patiently(self.database.search, scope, text, **options)
        except OUTAGES:
            return await self.spool.search(inside(scope), text, **{**options, "after": None})

    async def statistics(self, tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        ask = self.database.statistics
        try:
            return await self._watch.ask_patiently(ask, tenant, user=user, conversation=conversation)
        except OUTAGES:
            if user is None:
                raise
            return await self.spool.statistics(
                inside(Scope(tenant=tenant, user=user)).tenant, conversation=conversation
            )

    get = _reads(Store.get)
    snapshot = _reads(Store.snapshot)
    tree = _reads(Store.tree)
    entry = _reads(Store.entry)
    newest = _reads(Store.newest)
    before = _reads(Store.before)
    after = _reads(Store.after)
    count = _reads(Store.count)
    log = _reads(Store.log)
    state = _reads(Store.state)
    summary = _reads(Store.summary)
    related = _reads(Store.related)
    update = _writes(Store.update)
    choose_head = _writes(Store.choose_head)
    restore = _asks(Store.restore)
    import_entries = _asks(Store.import_entries)
    adopt = _asks(Store.adopt)
    list_tenant = _asks(Store.list_tenant)
    users = _asks(Store.users)
    owner = _asks(Store.owner)
    tenants = _asks(Store.tenants)
