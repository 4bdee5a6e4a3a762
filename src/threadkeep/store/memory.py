"""A store in memory: for tests, and for stateless questions. It ends with the process."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from secrets import token_bytes
from typing import TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, ConversationNotFound, StoreUnavailable
from threadkeep.store.file_tables import attached_files
from threadkeep.store.ledger.audit import LedgerAudit, Rows
from threadkeep.store.ledger.keyring import SECRET_BYTES, memory_keyring
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.ledger.store import LedgerStore, TenantLedgers
from threadkeep.store.record import Record
from threadkeep.store.rules import check_entries
from threadkeep.store.sqlite_file import Database
from threadkeep.store.sqlite_files import SqliteFiles, in_transaction, make_tables

T = TypeVar("T")


class LockedInMemory:
    """A ledger that is changed by applying alone."""

    def __init__(self, ledger: Ledger, ledgers: TenantLedgers) -> None:
        self.ledger: Ledger = ledger
        self._ledgers = ledgers

    def commit(self, record: Record) -> None:
        self.ledger.apply(record)
        self._ledgers.catalog.note(self.ledger)


class MemoryLedgers(TenantLedgers):
    """The ledgers of one tenant."""

    def __init__(self) -> None:
        super().__init__()
        self._ledgers: dict[str, Ledger] = {}
        self._created_with: dict[str, str] = {}
        self._deleted: list[tuple[datetime, Ledger]] = []

    @contextmanager
    def reading(self, scope: Scope, conversation: str) -> Iterator[Ledger]:
        ledger = self._ledgers.get(conversation)
        if ledger is None or ledger.scope != scope:
            raise ConversationNotFound
        yield ledger

    @contextmanager
    def writing(self, scope: Scope, conversation: str) -> Iterator[LockedInMemory]:
        with self.reading(scope, conversation) as ledger:
            yield LockedInMemory(ledger, self)

    @contextmanager
    def lock(self) -> Iterator[None]:
        yield

    def created_with(self, key: str) -> str | None:
        return self._created_with.get(key)

    def create(self, opening: Record) -> Ledger:
        ledger = Ledger(opening)
        self._put(ledger)
        return ledger

    def _put(self, ledger: Ledger) -> None:
        if ledger.id in self._ledgers:
            raise AlreadyExists
        self._ledgers[ledger.id] = ledger
        if ledger.created_with is not None:
            self._created_with.setdefault(ledger.created_with, ledger.id)
        self.catalog.note(ledger)

    def delete(self, scope: Scope, conversation: str, now: datetime, expected_entries: int | None) -> None:
        with self.reading(scope, conversation) as ledger:
            check_entries(ledger.tip, expected_entries)
            del self._ledgers[conversation]
        if self._created_with.get(ledger.created_with or "") == conversation:
            del self._created_with[ledger.created_with or ""]
        self._deleted.append((now, ledger))
        self.catalog.remove(conversation)

    def restore(self, scope: Scope, conversation: str) -> None:
        found = [pair for pair in self._deleted if (pair[1].scope, pair[1].id) == (scope, conversation)]
        if not found:
            raise ConversationNotFound
        self._put(found[-1][1])
        self._deleted.remove(found[-1])

    def purge(self, moment: datetime, owner: Scope | None) -> int:
        kept = [(at, ledger) for at, ledger in self._deleted if at > moment or owner not in (None, ledger.scope)]
        removed = len(self._deleted) - len(kept)
        self._deleted = kept
        return removed

    def deleted_files(self) -> set[str]:
        entries = (entry for _, ledger in self._deleted for entry in ledger.entries)
        return {file for entry in entries for file in attached_files(entry.body)}

    def refresh(self) -> None:
        pass


class MemoryStore(LedgerStore):
    """Conversations in memory. Every verb runs in the event loop without awaiting, so it is atomic."""

    def __init__(self, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(clock, ids, max_bytes)
        self._tenants: dict[str, MemoryLedgers] = {}
        secret = token_bytes(SECRET_BYTES)
        self.keyring = memory_keyring(secret, self._record)
        self._acts: dict[str, Rows] = {}
        self.audit = LedgerAudit(secret, lambda tenant: self._acts.setdefault(tenant, Rows()), self._run)
        self._files = Database(":memory:")
        make_tables(self._files)
        self.files = SqliteFiles(self._run_on_files, self)
        self._closed = False

    async def close(self) -> None:
        self._closed = True

    async def ping(self) -> None:
        await self._run(lambda: None)

    async def tenants(self) -> tuple[str, ...]:
        return tuple(sorted(self._tenants.keys() | self._acts.keys()))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        return work()

    async def _run_on_files(self, work: Callable[[Database], T], *, writes: bool = True) -> T:
        return await self._run(lambda: in_transaction(self._files, work))

    def _ledgers_of(self, tenant: str) -> TenantLedgers:
        return self._tenants.setdefault(tenant, MemoryLedgers())

    def _all_ledgers(self) -> Iterable[TenantLedgers]:
        return self._tenants.values()
