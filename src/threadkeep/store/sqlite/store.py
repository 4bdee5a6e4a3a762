"""The SQLite store: one file, one writer that groups commits, reading beside it.

Reading a page takes less time than waking a thread, so reads are made in the event loop, on a connection of their own;
a search, which may read much, is made in a thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State
from threadkeep.conversation.tree import Run, Tree
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.errors import StoreCorrupt, StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.caps import Caps
from threadkeep.store.changes import tells_itself, text_change
from threadkeep.store.checks import check_new
from threadkeep.store.filesystem import warn_if_shared
from threadkeep.store.paging import Listing, ListQuery, Search, check_limit, hit_page
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import AddedText, Verb
from threadkeep.store.sqlite import index, search
from threadkeep.store.sqlite.audit import SqliteAudit
from threadkeep.store.sqlite.drafts import Drafts, Stored
from threadkeep.store.sqlite.files import SqliteFiles
from threadkeep.store.sqlite.keyring import SqliteKeyRing
from threadkeep.store.sqlite.log import SqliteLog
from threadkeep.store.sqlite.maintenance import HealthCheck, Maintenance
from threadkeep.store.sqlite.notes import SqliteNotes
from threadkeep.store.sqlite.opening import open_file
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.removal import Remover, scrub
from threadkeep.store.sqlite.usage import SqliteUsage
from threadkeep.store.sqlite.writer import Transactions, Writer
from threadkeep.store.sqlite.writing import LogWriter
from threadkeep.store.sqlite_file import SqliteDatabase, connect, translating_sqlite_errors
from threadkeep.store.values import NO_ENTRIES, Created, HitPage, LogPage, Page, Related, Snapshot, Statistics
from threadkeep.text.search import relate

T = TypeVar("T")
logger = logging.getLogger(__name__)


class SqliteStore(RuledStore):
    """Conversations in one SQLite file."""

    files: SqliteFiles
    usage: SqliteUsage
    reading = Reader

    def __init__(self, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(clock, ids, max_bytes)
        self._path = path
        connection, _ = open_file(path)
        log = LogWriter(self.reading(connection), clock)
        writer = Writer(connection, log.begin, log.forget)
        self._wire(log, writer, self.reading(connect(path)))
        self._searcher = self.reading(connect(path))
        self._searching = asyncio.Lock()
        self._health = HealthCheck(path, writer)
        self.maintenance = Maintenance(writer, log)

    def _wire(self, log: LogWriter, writer: Transactions, reader: Reader) -> None:
        """Write and read through these."""
        self._log = log
        self._remover = Remover(log)
        self.writer = writer
        self._drafts = Drafts(self._add_texts, lambda added: self.tell(text_change(*added)))
        self._reader = reader
        self.keyring = SqliteKeyRing(self._run_on_database)
        self.audit = SqliteAudit(bytes(reader.db.value("SELECT value FROM secret")), self._run_on_database)
        self.files = SqliteFiles(self._run_on_database, self._scrub)
        self.notes = SqliteNotes(self._run_on_database)
        self.usage = SqliteUsage(reader, self._run_on_database, self._catch_up, log.enter)
        self._closed = False

    @classmethod
    async def open(cls, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the file; create and migrate it as needed."""
        with filesystem.translating_os_errors():
            store = cls(path, clock, ids, max_bytes)
            warn_if_shared(path)
        try:
            await store.maintenance.begin()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._drafts.close()
        await self.maintenance.close()
        await self.writer.close()
        async with self._searching:
            self._reader.db.close()
            self._searcher.db.close()

    async def release(self) -> None:
        await self.writer.run(self._log.forget)

    async def ping(self) -> None:
        await self._health.check()
        self._damage.check()

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
        caps = self.caps if within_caps else Caps()
        with self._damage.noted(new.id):
            return await self.run(lambda: self._log.create(scope, new.id or self._ids(), new, key, at, caps))

    async def _list(self, asked: ListQuery) -> Listing:
        with self._snapshot():
            return index.list_conversations(self._reader, asked)

    async def delete(self, scope: Scope, conversation: str, *, expected_entries: int | None = None) -> None:
        act = self._act(scope, conversation, "deleted")
        await self.run(lambda: self._remover.hide(scope, conversation, expected_entries, act))

    async def restore(self, scope: Scope, conversation: str, *, within_caps: bool = False) -> Conversation:
        act, caps = self._act(scope, conversation, "restored"), self.caps if within_caps else None
        return await self.run(lambda: self._remover.restore(scope, conversation, act, caps))

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        await self._catch_up()  # what is removed has been counted
        moment = self._clock() - kept_for
        while await self.run(lambda: self._remover.purge(moment, owner)):
            pass
        if owner is not None:
            await self.usage.forget(owner)
        emptied = await self.run(self._remover.emptied)
        if not emptied and owner is None:
            return 0
        await self._scrub()
        return await self.run(lambda: self._remover.remove_emptied(emptied))

    async def _catch_up(self) -> None:
        """Let what is derived follow the log, whoever wrote to it."""
        with self._snapshot():
            lag = index.lag(self._reader)
        if lag:
            await self._derive()

    async def _derive(self) -> None:
        await self.maintenance.catch_up()

    async def _scrub(self) -> None:
        steps = scrub(self._path)
        while await asyncio.to_thread(next, steps, steps) is not steps:
            pass

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        check_limit(limit)
        with translating_sqlite_errors(self._reader.db):
            now = self._clock()
            return self._reader.expired(now, now + 2 * lease_for, limit)

    # One conversation

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return await self._read(scope, conversation, lambda log: log.conversation)

    async def snapshot(self, scope: Scope, conversation: str, page: Page = NO_ENTRIES) -> Snapshot:
        return await self._read(scope, conversation, lambda log: log.snapshot(page))

    async def _tree(self, scope: Scope, conversation: str) -> Tree:
        return await self._read(scope, conversation, lambda log: log.tree)

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        return await self._read(scope, conversation, lambda log: log.entry(seq))

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None, before: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.newest(log.last(head, before), limit))

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.after(seq, log.head(head), limit))

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None) -> int:
        return await self._read(scope, conversation, lambda log: log.count(log.head(head)))

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.log(after, limit))

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        return await self._read(scope, conversation, lambda log: log.state(at))

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        return await self._read(scope, conversation, lambda log: log.summary(head))

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        return await self._read(scope, conversation, lambda log: log.turns)

    # Across conversations

    async def _search(self, asked: Search) -> HitPage:
        return await self.look(lambda reader: hit_page(asked, search.search(reader, asked)))

    async def _related(
        self, scope: Scope, conversation: str, words: Sequence[Sequence[str]], path: Sequence[Run], limit: int
    ) -> list[Related]:
        def look(reader: Reader) -> list[Related]:
            log = reader.log(scope, conversation)
            found = relate(words, search.related(reader, log.key, words, path[0].last), path, limit)
            return [Related(entry, found[entry.seq]) for entry in log.at(list(found))]

        return await self.look(look)

    async def statistics(self, tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        with self._snapshot():
            return index.statistics(self._reader, tenant, user, conversation)

    async def users(self, tenant: str) -> tuple[str, ...]:
        with translating_sqlite_errors(self._reader.db):
            return self._reader.users(check_id(tenant))

    async def owner(self, tenant: str, conversation: str) -> Scope:
        with translating_sqlite_errors(self._reader.db):
            return self._reader.owner(check_id(tenant), conversation)

    async def tenants(self) -> tuple[str, ...]:
        with translating_sqlite_errors(self._reader.db):
            return tuple(name for (name,) in self._reader.db.rows("SELECT name FROM tenant ORDER BY name"))

    # Seams

    async def _read(self, scope: Scope, conversation: str, read: Callable[[SqliteLog], T]) -> T:
        with self._snapshot():
            return read(self._reader.log(scope, conversation))

    async def look(self, look: Callable[[Reader], T]) -> T:
        """Read what may be much, as of one moment, in a thread."""

        def work() -> T:
            with translating_sqlite_errors(self._searcher.db), self._searcher.snapshot():
                return look(self._searcher)

        async with self._searching:
            return await asyncio.to_thread(work)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read as of one moment."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        with translating_sqlite_errors(self._reader.db), self._reader.snapshot():
            yield

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        with self._damage.noted(conversation):
            answer = await self.writer.run(lambda: self._log.write(scope, conversation, verb, self.caps))
        await self._follow()
        return answer

    @tells_itself
    def write(self, lease: Lease, message: str, offset: int, text: str) -> Awaitable[None]:
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        return self._drafts.add(AddedText(lease, message, offset, text))

    async def _add_texts(self, texts: Sequence[AddedText]) -> Stored:
        answers = await self.writer.run(lambda: self._log.add_texts(texts, self._rules.check_text))
        for added, error in zip(texts, answers, strict=True):
            if isinstance(error, StoreCorrupt):
                with suppress(StoreCorrupt), self._damage.noted(added.lease.conversation):
                    raise error
        if None in answers:
            with self._damage.noted(None):
                pass  # something can be written
        await self._follow()
        return answers

    async def _run_on_database(self, work: Callable[[SqliteDatabase], T], *, writes: bool = True) -> T:
        if writes:
            return await self.run(lambda: work(self.writer.connection))
        with self._snapshot():
            return work(self._reader.db)

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a transaction of the writer, and return its result once that is durable."""
        result = await self.writer.run(work)
        await self._follow()
        return result

    async def _follow(self) -> None:
        """Something was written: let follow what is derived from it."""
        self.maintenance.note_write()
