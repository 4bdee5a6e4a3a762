"""The SQLite store: one file, one writer that groups commits, reading beside it.

Reading a page takes less time than waking a thread, so reads are made in the event loop, on a connection of their own;
a search, which may read much, is made in a thread.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

import apsw

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import MAX_SEQ, Cursor
from threadkeep.conversation.entry import Entry, Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Turn
from threadkeep.errors import StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.base import (
    ROOT,
    ConversationPage,
    Created,
    HitPage,
    LogPage,
    Statistics,
)
from threadkeep.store.filesystem import warn_if_shared
from threadkeep.store.paging import check_limit, check_position
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import Verb, check_new
from threadkeep.store.sqlite import index, listing
from threadkeep.store.sqlite.deletion import Deletion
from threadkeep.store.sqlite.keyring import SqliteKeyRing
from threadkeep.store.sqlite.place import Place
from threadkeep.store.sqlite.pulse import Pulse
from threadkeep.store.sqlite.reading import Reader
from threadkeep.store.sqlite.schema import apply
from threadkeep.store.sqlite.searching import search
from threadkeep.store.sqlite.upkeep import Upkeep
from threadkeep.store.sqlite.wal import check_end, check_pair, flush
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite.writing import Log
from threadkeep.store.sqlite_file import Database, connect, translating_sqlite_errors
from threadkeep.text.search import relate
from threadkeep.text.words import query_words

T = TypeVar("T")
logger = logging.getLogger(__name__)


class SqliteStore(RuledStore):
    """Conversations in one SQLite file."""

    def __init__(self, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(clock, ids, max_bytes)
        connection = _open(path)
        self._log = Log(Reader(connection), clock)
        self._deletion = Deletion(self._log)
        self.writer = Writer(connection, self._log.begin, self._log.forget)
        self._reader = Reader(connect(path))
        self._searcher = Reader(connect(path))
        self.keyring = SqliteKeyRing(self.writer, self._reader.db)
        self._searching = asyncio.Lock()
        self._pulse = Pulse(path, self.writer)
        self.upkeep = Upkeep(self.writer, self._log)
        self._closed = False

    @classmethod
    async def open(cls, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the file; create and migrate it as needed."""
        with filesystem.translating_os_errors():
            store = cls(path, clock, ids, max_bytes)
            warn_if_shared(path)
        try:
            await store.upkeep.begin()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self.upkeep.close()
        await self.writer.close()
        async with self._searching:
            self._reader.db.close()
            self._searcher.db.close()

    async def ping(self) -> None:
        await self._pulse.beat()

    # Conversations

    async def create(
        self, scope: Scope, new: NewConversation, *, key: IdempotencyKey | None = None, at: datetime | None = None
    ) -> Created:
        check_new(new)
        return await self._run(lambda: self._log.create(scope, new.id or self._ids(), new, key, at))

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return self._read(scope, conversation, lambda here: self._reader.conversation(scope, here))

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
        with self._snapshot():
            return listing.list_user(self._reader, scope, assistant, status, limit, after)

    async def delete(self, scope: Scope, conversation: str) -> None:
        await self._run(lambda: self._deletion.hide(scope, conversation))

    async def restore(self, scope: Scope, conversation: str) -> Conversation:
        return await self._run(lambda: self._deletion.restore(scope, conversation))

    async def purge(self, kept_for: timedelta) -> int:
        removed, moment = 0, self._clock() - kept_for
        while (finished := await self._run(lambda: self._deletion.purge(moment))) is not None:
            removed += finished
        if removed:
            self.writer.checkpoints.empty()
            await self.writer.run(lambda: None)
        return removed

    # The log and its tree

    async def tree(self, scope: Scope, conversation: str) -> Tree:
        return self._read(scope, conversation, self._reader.tree)

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        return self._read(scope, conversation, lambda here: self._reader.entry(here, seq))

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return self._read(scope, conversation, lambda here: self._reader.backwards(here, self._head(here, head), limit))

    async def before(self, scope: Scope, conversation: str, seq: int, *, limit: int = 20) -> tuple[Entry, ...]:
        check_limit(limit)

        def read(here: Place) -> tuple[Entry, ...]:
            parent = self._reader.entry(here, self._reader.check_on_branch(here, seq)).parent
            return self._reader.backwards(here, parent or 0, limit)

        return self._read(scope, conversation, read)

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return self._read(
            scope, conversation, lambda here: self._reader.forwards(here, seq, self._head(here, head), limit)
        )

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None, after: int = ROOT) -> int:
        return self._read(scope, conversation, lambda here: self._reader.count(here, after, self._head(here, head)))

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        check_limit(limit)

        def read(here: Place) -> LogPage:
            last = self._reader.tip(here).last
            check_position(after.seq, last)
            entries = self._reader.entries(here, after.seq, limit)
            if (entries[-1].seq if entries else after.seq) < last:
                return LogPage(entries=entries, draft=None)
            draft = self._reader.draft(here, after.message, after.offset)
            return LogPage(entries=entries, draft=draft)

        return self._read(scope, conversation, read)

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        def read(here: Place) -> State:
            entries = self._reader.state_changes(here, self._head(here, at))
            return fold(entry.body for entry in entries if isinstance(entry.body, StateChange))

        return self._read(scope, conversation, read)

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        return self._read(scope, conversation, lambda here: self._reader.summary(here, self._head(here, head)))

    def _head(self, here: Place, head: int | None) -> int:
        """Return the head that was asked for, or the current one."""
        return self._reader.tip(here).head if head is None else self._reader.check_on_branch(here, head)

    # Turns

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        return self._read(scope, conversation, lambda here: self._reader.turns(scope, here))

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        check_limit(limit)
        with translating_sqlite_errors(self._reader.db):
            now = self._clock()
            return self._reader.expired(now, now + 2 * lease_for, limit)

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
        async with self._searching:
            return await asyncio.to_thread(search, self._searcher, scope, text, conversation, limit, after)

    async def related(
        self, scope: Scope, conversation: str, words: Sequence[str], *, before: int, limit: int = 20
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        terms = query_words(words)

        def read(here: Place) -> tuple[Entry, ...]:
            found = relate(index.related(self._reader, here, terms, min(before, MAX_SEQ)), limit)
            return tuple(self._reader.entry(here, seq) for seq in found)

        return self._read(scope, conversation, read)

    async def statistics(self, tenant: str, *, user: str | None = None) -> Statistics:
        with self._snapshot():
            return listing.count(self._reader, tenant, user)

    # For administrators of a tenant

    async def list_tenant(self, tenant: str, *, limit: int = 20, after: str | None = None) -> ConversationPage:
        check_limit(limit)
        with self._snapshot():
            return listing.list_tenant(self._reader, check_id(tenant), limit, after)

    async def users(self, tenant: str) -> tuple[str, ...]:
        with translating_sqlite_errors(self._reader.db):
            return self._reader.users(check_id(tenant))

    # Seams

    def _read(self, scope: Scope, conversation: str, read: Callable[[Place], T]) -> T:
        with self._snapshot():
            return read(self._reader.place(scope, conversation))

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read as of one moment."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        with translating_sqlite_errors(self._reader.db), self._reader.snapshot():
            yield

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        return await self._run(lambda: self._log.write(scope, conversation, verb), patient=verb.patient)

    async def _run(self, work: Callable[[], T], *, patient: bool = False) -> T:
        """Do work in a transaction."""
        result = await self.writer.run(work, patient=patient)
        self.upkeep.stir()
        return result


def _open(path: Path) -> Database:
    """Open the file to write it, after looking whether SQLite would lose something by that; bring it up to date."""
    check_pair(path)
    connection = connect(path)
    try:
        # As long as it is not known whether the log is whole, closing must not move it into the file.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        check_end(path, connection)
        flush(path)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        apply(connection)
        with translating_sqlite_errors(connection):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except BaseException:
        connection.close()
        raise
    return connection
