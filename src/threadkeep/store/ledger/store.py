"""A store made of ledgers: every verb of the contract, once, for all backends that keep a conversation in memory.

What a backend adds is where ledgers come from and how a record is kept: `TenantLedgers` for each tenant. The verbs run
inside `_run`, so a backend that waits for a disk can send them to a thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol, TypeVar

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Turn
from threadkeep.errors import ConversationNotFound, EntryNotFound
from threadkeep.store.base import (
    ROOT,
    ConversationPage,
    Created,
    HitPage,
    LogPage,
    Statistics,
)
from threadkeep.store.ledger.catalog import Catalog
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.paging import Candidate, check_limit, hit_page, search_after
from threadkeep.store.record import Record
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import Verb, check_new, key_use, replayed
from threadkeep.text.search import Query, relate
from threadkeep.text.words import query_words

T = TypeVar("T")
LAST = datetime.max.replace(tzinfo=UTC)


class LockedLedger(Protocol):
    """A ledger that nobody else can change now."""

    @property
    def ledger(self) -> Ledger:
        """The ledger as it is now."""

    def commit(self, record: Record) -> None:
        """Make the record durable, then apply it; raise and change nothing if it cannot be kept."""


class TenantLedgers(ABC):
    """The ledgers of one tenant. A conversation that is not there is `ConversationNotFound`."""

    def __init__(self) -> None:
        self.catalog = Catalog()

    @abstractmethod
    def reading(self, scope: Scope, conversation: str) -> AbstractContextManager[Ledger]:
        """Lock a ledger of this user, as it is now, to read it."""

    @abstractmethod
    def writing(self, scope: Scope, conversation: str) -> AbstractContextManager[LockedLedger]:
        """Lock a ledger of this user, as it is now, to change it."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Keep others from creating with a key, deleting, restoring and purging."""

    @abstractmethod
    def created_with(self, key: str) -> str | None:
        """Return the conversation that may have been created with this key."""

    @abstractmethod
    def create(self, opening: Record) -> Ledger:
        """Keep a new conversation; `AlreadyExists` if there is one with its id."""

    @abstractmethod
    def delete(self, scope: Scope, conversation: str, now: datetime) -> None:
        """Put a conversation aside, with everything that belongs to it."""

    @abstractmethod
    def restore(self, scope: Scope, conversation: str) -> None:
        """Put back the conversation of this user that was put aside last; `AlreadyExists` if its id is taken."""

    @abstractmethod
    def purge(self, moment: datetime) -> int:
        """Remove what was put aside up to that moment; return how many conversations."""

    @abstractmethod
    def refresh(self) -> None:
        """Bring the catalog up to date with what others stored."""


class LedgerStore(RuledStore):
    """Conversations as ledgers."""

    # Seams

    @abstractmethod
    async def _run(self, work: Callable[[], T]) -> T:
        """Do the work where it may wait."""

    @abstractmethod
    def _ledgers_of(self, tenant: str) -> TenantLedgers:
        """Return the ledgers of a tenant."""

    @abstractmethod
    def _all_ledgers(self) -> Iterable[TenantLedgers]:
        """Return the ledgers of every tenant."""

    async def _read(self, scope: Scope, conversation: str, read: Callable[[Ledger], T]) -> T:
        check_id(conversation)

        def work() -> T:
            with self._ledgers_of(scope.tenant).reading(scope, conversation) as ledger:
                return read(ledger)

        return await self._run(work)

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        check_id(conversation)

        def work() -> T:
            with self._ledgers_of(scope.tenant).writing(scope, conversation) as locked:
                decision, first = verb.decide(locked.ledger), locked.ledger.tip.last + 1
                if decision.record is not None:
                    locked.commit(decision.record)
                    return decision.answer(locked.ledger.between(first, locked.ledger.tip.last))
                return decision.answer(locked.ledger.between(*decision.again) if decision.again else ())

        return await self._run(work)

    async def _read_catalog(self, tenant: str, look: Callable[[TenantLedgers], T]) -> T:
        """Look into the catalog after bringing it up to date."""

        def work() -> T:
            ledgers = self._ledgers_of(tenant)
            ledgers.refresh()
            return look(ledgers)

        return await self._run(work)

    # Conversations

    async def create(
        self, scope: Scope, new: NewConversation, *, key: IdempotencyKey | None = None, at: datetime | None = None
    ) -> Created:
        check_new(new)

        def work() -> Created:
            ledgers = self._ledgers_of(scope.tenant)
            if key is None:
                return self._create(ledgers, scope, new, None, at)
            with ledgers.lock():
                return self._created(ledgers, scope, key) or self._create(ledgers, scope, new, key, at)

        return await self._run(work)

    def _create(
        self,
        ledgers: TenantLedgers,
        scope: Scope,
        new: NewConversation,
        key: IdempotencyKey | None,
        at: datetime | None,
    ) -> Created:
        opening = self._rules.open(scope, new.id or self._ids(), new, self._ids(), key)
        ledger = ledgers.create(opening if at is None else opening.model_copy(update={"at": at}))
        return Created(conversation=ledger.conversation)

    def _created(self, ledgers: TenantLedgers, scope: Scope, key: IdempotencyKey) -> Created | None:
        """Return what a repeated key created."""
        use = key_use(scope, key)
        conversation = ledgers.created_with(key.name(scope).hex())
        if conversation is None:
            return None
        try:
            with ledgers.reading(scope, conversation) as ledger:
                found = replayed(ledger, use)
                return None if found is None else Created(conversation=ledger.conversation, replayed=True)
        except ConversationNotFound:
            return None

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return await self._read(scope, conversation, lambda ledger: ledger.conversation)

    async def list(
        self,
        scope: Scope,
        *,
        assistant: str | None = None,
        status: Status | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> ConversationPage:
        check_limit(limit)
        return await self._read_catalog(
            scope.tenant, lambda ledgers: ledgers.catalog.page(scope, assistant, status, limit, after)
        )

    async def delete(self, scope: Scope, conversation: str) -> None:
        check_id(conversation)

        def work() -> None:
            ledgers = self._ledgers_of(scope.tenant)
            with ledgers.reading(scope, conversation):
                pass
            with ledgers.lock():
                ledgers.delete(scope, conversation, self._clock())

        await self._run(work)

    async def restore(self, scope: Scope, conversation: str) -> Conversation:
        check_id(conversation)

        def work() -> Conversation:
            ledgers = self._ledgers_of(scope.tenant)
            ledgers.restore(scope, conversation)
            with ledgers.reading(scope, conversation) as ledger:
                return ledger.conversation

        return await self._run(work)

    async def purge(self, kept_for: timedelta) -> int:
        moment = self._clock() - kept_for
        return await self._run(lambda: sum(ledgers.purge(moment) for ledgers in self._all_ledgers()))

    # The log and its tree

    async def tree(self, scope: Scope, conversation: str) -> Tree:
        return await self._read(scope, conversation, lambda ledger: ledger.tree)

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        return await self._read(scope, conversation, lambda ledger: ledger.entry(seq))

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda ledger: _newest(ledger, ledger.head(head), limit))

    async def before(self, scope: Scope, conversation: str, seq: int, *, limit: int = 20) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(
            scope, conversation, lambda ledger: _newest(ledger, ledger.entry(ledger.head(seq)).parent or 0, limit)
        )

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(
            scope, conversation, lambda ledger: tuple(islice(ledger.forwards(seq, ledger.head(head)), limit))
        )

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None, after: int = ROOT) -> int:
        return await self._read(scope, conversation, lambda ledger: ledger.count(after, ledger.head(head)))

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        check_limit(limit)
        return await self._read(scope, conversation, lambda ledger: ledger.log(after, limit))

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        return await self._read(scope, conversation, lambda ledger: ledger.state(at))

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        return await self._read(scope, conversation, lambda ledger: ledger.summary(head))

    # Turns

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        return await self._read(scope, conversation, lambda ledger: ledger.turns)

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        check_limit(limit)

        def work() -> tuple[Turn, ...]:
            found: list[Turn] = []
            now = self._clock()
            for ledgers in self._all_ledgers():
                ledgers.refresh()
                found += ledgers.catalog.expired(now, now + 2 * lease_for)
            return tuple(sorted(found, key=lambda turn: turn.until or LAST)[:limit])

        return await self._run(work)

    # Across conversations

    async def search(
        self,
        scope: Scope,
        text: str,
        *,
        conversation: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> HitPage:
        check_limit(limit)
        query = Query(text)
        offset, bound = search_after(scope, text, after)
        if conversation is not None:
            await self.get(scope, conversation)

        def look(ledgers: TenantLedgers) -> HitPage:
            newest, limited = ledgers.catalog.candidates(scope.user, query, conversation, bound)
            found = [candidate for posting in newest if (candidate := _candidate(ledgers, scope, *posting))]
            return hit_page(scope, text, query, found, limit, offset, limited)

        return await self._read_catalog(scope.tenant, look)

    async def related(
        self, scope: Scope, conversation: str, words: Sequence[str], *, before: int, limit: int = 20
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        terms = query_words(words)
        await self.get(scope, conversation)

        def look(ledgers: TenantLedgers) -> tuple[Entry, ...]:
            found = relate(ledgers.catalog.related(scope.user, conversation, terms, before), limit)
            with ledgers.reading(scope, conversation) as ledger:
                return tuple(ledger.entry(seq) for seq in found)

        return await self._read_catalog(scope.tenant, look)

    async def statistics(self, tenant: str, *, user: str | None = None) -> Statistics:
        return await self._read_catalog(tenant, lambda ledgers: ledgers.catalog.statistics(user))

    # For administrators of a tenant

    async def list_tenant(self, tenant: str, *, limit: int = 20, after: str | None = None) -> ConversationPage:
        check_limit(limit)
        check_id(tenant)
        return await self._read_catalog(tenant, lambda ledgers: ledgers.catalog.page(tenant, None, None, limit, after))

    async def users(self, tenant: str) -> tuple[str, ...]:
        check_id(tenant)
        return await self._read_catalog(tenant, lambda ledgers: ledgers.catalog.users())


def _newest(ledger: Ledger, head: int, limit: int) -> tuple[Entry, ...]:
    return tuple(reversed(tuple(islice(ledger.backwards(head), limit))))


def _candidate(ledgers: TenantLedgers, scope: Scope, conversation: str, seq: int) -> Candidate | None:
    """Return an entry that was found, unless its conversation was deleted meanwhile."""
    try:
        with ledgers.reading(scope, conversation) as ledger:
            entry, title, tree = ledger.entry(seq), ledger.title, ledger.tree
    except (ConversationNotFound, EntryNotFound):
        return None
    return Candidate(entry, lambda: title, lambda: tree)
