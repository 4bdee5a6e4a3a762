"""A store made of ledgers: every verb of the contract, once, for all backends that keep a conversation in memory.

What a backend adds is where ledgers come from and how a record is kept: `TenantLedgers` for each tenant. The verbs run
inside `_run`, so a backend that waits for a disk can send them to a thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Run
from threadkeep.conversation.turn import Turn
from threadkeep.errors import ConversationNotFound, EntryNotFound, StoreCorrupt
from threadkeep.store.audit import Recorded
from threadkeep.store.caps import Caps, Load
from threadkeep.store.checks import check_new, size_of
from threadkeep.store.embedded import EmbeddedStore
from threadkeep.store.ledger.audit import LedgerAudit
from threadkeep.store.ledger.catalog import Catalog
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.paging import Candidate, Listing, ListQuery, Matches, Search, check_limit, hit_page, subject_of
from threadkeep.store.record import Record
from threadkeep.store.rules import Verb, key_use, replayed
from threadkeep.store.sqlite_file import Database
from threadkeep.store.sqlite_files import SqliteFiles
from threadkeep.store.values import Created, HitPage, Related, Statistics
from threadkeep.text.search import relate
from threadkeep.text.words import searchable

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
    def delete(self, scope: Scope, conversation: str, now: datetime, expected_entries: int | None) -> None:
        """Put a conversation aside, with everything that belongs to it, unless it has gone on (`check_entries`)."""

    @abstractmethod
    def restore(self, scope: Scope, conversation: str) -> None:
        """Put back the conversation of this user that was put aside last; `AlreadyExists` if its id is taken."""

    @abstractmethod
    def purge(self, moment: datetime, owner: Scope | None) -> int:
        """Remove what was put aside up to that moment; return how many conversations."""

    @abstractmethod
    def deleted_files(self) -> set[str]:
        """Return the files that conversations use which were put aside."""

    @abstractmethod
    def refresh(self) -> None:
        """Bring the catalog up to date with what others stored."""


class _UncountedError(Exception):
    """What somebody keeps must be counted, because there may be no room for more."""


class _Room:
    """Room under the caps for what a user brings, as far as it is known or (in a catalog) counted."""

    def __init__(self, caps: Caps, scope: Scope, catalog: Catalog | None = None) -> None:
        self._caps = caps
        self._scope = scope
        self._catalog = catalog

    def check(self, brought: Load) -> None:
        for holder in self._caps.to_count(self._scope, brought):
            if self._catalog is None:
                raise _UncountedError
            self._caps.check(holder, self._catalog.statistics(holder.user), brought)


class LedgerStore(EmbeddedStore):
    """Conversations as ledgers."""

    audit: LedgerAudit
    files: SqliteFiles

    async def _record(self, act: Recorded | None) -> None:
        """Put an act on record, behind the change that it tells of."""
        if act is not None:
            await self._run(lambda: self.audit.add(*act))

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

    def live(self, db: Database, tenant: str, conversation: str | None) -> set[str]:
        """Return the files that conversations of a tenant use, or one of them, in a thread that may wait."""
        ledgers = self._ledgers_of(tenant)
        ledgers.refresh()
        return ledgers.catalog.files(conversation)

    def kept_elsewhere(self, tenant: str) -> set[str]:
        """Return all files that ledgers tell of, those of deleted conversations included."""
        ledgers = self._ledgers_of(tenant)
        ledgers.refresh()
        return ledgers.catalog.files() | ledgers.deleted_files()

    async def _read(self, scope: Scope, conversation: str, read: Callable[[Ledger], T]) -> T:
        check_id(conversation)

        def work() -> T:
            with self._ledgers_of(scope.tenant).reading(scope, conversation) as ledger:
                return read(ledger)

        return await self._run(work)

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        check_id(conversation)

        def work(room: _Room | None = None) -> T:
            with self._ledgers_of(scope.tenant).writing(scope, conversation) as locked:
                decision, first = verb.decide(locked.ledger), locked.ledger.tip.last + 1
                if decision.record is not None:
                    size = sum(row.size for row in decision.rows)
                    if verb.brought:
                        (room or _Room(self.caps, scope)).check(Load(bytes=size))
                    locked.commit(decision.record.model_copy(update={"bytes": size}))
                    if verb.act is not None:
                        self.audit.add(scope.tenant, verb.act)
                    return decision.answer(locked.ledger.between(first, locked.ledger.tip.last))
                return decision.answer(locked.ledger.between(*decision.again) if decision.again else ())

        return await self._run(lambda: self._within_caps(scope, work))

    def _within_caps(self, scope: Scope, work: Callable[[_Room | None], T]) -> T:
        """Do the work; if it brings what may be too much, count what is kept and do it while nobody brings anything."""
        try:
            return work(None)
        except _UncountedError:
            ledgers = self._ledgers_of(scope.tenant)
            with ledgers.lock():
                ledgers.refresh()
                return work(_Room(self.caps, scope, ledgers.catalog))

    async def _read_catalog(self, tenant: str, look: Callable[[TenantLedgers], T]) -> T:
        """Look into the catalog after bringing it up to date."""

        def work() -> T:
            ledgers = self._ledgers_of(tenant)
            ledgers.refresh()
            return look(ledgers)

        return await self._run(work)

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
        check_new(new)

        def work(room: _Room | None) -> Created:
            ledgers, size = self._ledgers_of(scope.tenant), size_of(new)
            with ledgers.lock() if key and not room else nullcontext():
                if key and (found := self._created(ledgers, scope, key)):
                    return found
                if within_caps:
                    (room or _Room(self.caps, scope)).check(Load(1, size))
                opening = self._rules.open(scope, new.id or self._ids(), new, self._ids(), key)
                ledger = ledgers.create(opening.model_copy(update={"at": at or opening.at, "bytes": size}))
                return Created(conversation=ledger.conversation)

        return await self._run(lambda: self._within_caps(scope, work))

    def _created(self, ledgers: TenantLedgers, scope: Scope, key: IdempotencyKey) -> Created | None:
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

    async def _list(self, asked: ListQuery) -> Listing:
        return await self._read_catalog(asked.tenant, lambda ledgers: ledgers.catalog.listed(asked))

    async def delete(self, scope: Scope, conversation: str, *, expected_entries: int | None = None) -> None:
        check_id(conversation)
        act = self._act(scope, conversation, "deleted")

        def work() -> set[str]:
            ledgers = self._ledgers_of(scope.tenant)
            with ledgers.reading(scope, conversation):
                used = ledgers.catalog.files(conversation)
            with ledgers.lock():
                ledgers.delete(scope, conversation, self._clock(), expected_entries)
            self.audit.add(scope.tenant, act)
            return used - ledgers.catalog.files() if used else used

        await self.files.note_deletion(await self._run(work))

    async def restore(self, scope: Scope, conversation: str, *, within_caps: bool = False) -> Conversation:
        check_id(conversation)
        act = self._act(scope, conversation, "restored")

        def work() -> tuple[Conversation, set[str]]:
            ledgers = self._ledgers_of(scope.tenant)
            if within_caps:
                _Room(self.caps, scope, ledgers.catalog).check(Load(1))
            ledgers.restore(scope, conversation)
            self.audit.add(scope.tenant, act)
            with ledgers.reading(scope, conversation) as ledger:
                return ledger.conversation, ledgers.catalog.files(conversation)

        restored, used = await self._run(work)
        await self.files.note_restoration(used, self._clock())
        return restored

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        moment = self._clock() - kept_for

        def remove() -> int:
            found = self._all_ledgers() if owner is None else [self._ledgers_of(owner.tenant)]
            return sum(ledgers.purge(moment, owner) for ledgers in found)

        return await self._run(remove)

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

    async def _search(self, asked: Search) -> HitPage:
        if asked.conversation is not None:
            await self.get(asked.scope, asked.conversation)

        def look(ledgers: TenantLedgers) -> HitPage:
            postings, bound = ledgers.catalog.candidates(asked)
            found = (_candidate(ledgers, asked.scope, *posting) for posting in postings)
            titles = ledgers.catalog.titled(asked) if asked.finds_titles else ()
            return hit_page(asked, Matches(filter(None, found), titles, bound))

        return await self._read_catalog(asked.scope.tenant, look)

    async def _related(
        self, scope: Scope, conversation: str, words: Sequence[Sequence[str]], path: Sequence[Run], limit: int
    ) -> list[Related]:
        def look(ledgers: TenantLedgers) -> list[Related]:
            with ledgers.reading(scope, conversation) as ledger:
                found = relate(ledgers.catalog.related(scope.user, conversation, words, path[0].last), path, limit)
                return [Related(ledger.entry(seq), score) for seq, score in found.items() if seq <= ledger.tip.last]

        return await self._read_catalog(scope.tenant, look)

    async def statistics(self, tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        return await self._read_catalog(tenant, lambda ledgers: ledgers.catalog.statistics(user, conversation))

    async def users(self, tenant: str) -> tuple[str, ...]:
        check_id(tenant)
        return await self._read_catalog(tenant, lambda ledgers: ledgers.catalog.users())

    async def owner(self, tenant: str, conversation: str) -> Scope:
        check_id(conversation)
        return await self._read_catalog(check_id(tenant), lambda ledgers: ledgers.catalog.owner(conversation))


def _candidate(ledgers: TenantLedgers, scope: Scope, conversation: str, seq: int) -> Candidate | None:
    """Return an entry that was found, unless its conversation was deleted meanwhile."""
    try:
        with ledgers.reading(scope, conversation) as ledger:
            entry, subject, tree = ledger.entry(seq), subject_of(ledger.conversation), ledger.tree
    except (ConversationNotFound, EntryNotFound):
        return None
    if not isinstance(entry.body, Message):
        raise StoreCorrupt("The search index names an entry that is no message.")
    text = searchable(entry.body)
    return Candidate(seq, entry.body.role, entry.created_at, text, lambda: subject, lambda: tree)
