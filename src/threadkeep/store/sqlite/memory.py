"""The SQLite store in memory: for tests, and for stateless questions. It ends when it is closed, or with the process.

It has one connection and no thread: every verb runs in the event loop without awaiting, so it is atomic.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource
from threadkeep.errors import StoreUnavailable
from threadkeep.store.ruled import RuledStore
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.schema import make, register
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite.writer import Transactions
from threadkeep.store.sqlite.writing import LogWriter
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

T = TypeVar("T")
LARGEST_LAG = 64
"""How many entries may wait for the words and sizes that are derived from them: there is no task that does so later."""


class MemoryWriter(Transactions):
    """Runs work in a transaction of the one connection, at once."""

    def __init__(self, log: LogWriter) -> None:
        self.connection = log.db
        self._log = log
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        with translating_sqlite_errors(self.connection):
            self.connection.execute("BEGIN")
            try:
                done = work()
                self.connection.execute("COMMIT")
            finally:
                if self.connection.in_transaction:
                    self._log.forget()
                    self.connection.execute("ROLLBACK")
        return done

    async def close(self) -> None:
        self._closed = True
        self.connection.close()


class MemoryStore(SqliteStore):
    """Conversations in memory."""

    def __init__(self, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        RuledStore.__init__(self, clock, ids, max_bytes)
        log = LogWriter(Reader(_new_database()), clock)
        self._wire(log, MemoryWriter(log), log.reader)

    write = RuledStore.write

    async def close(self) -> None:
        self._closed = True
        await self.writer.close()

    async def ping(self) -> None:
        await self.writer.run(lambda: None)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read as of one moment, which needs no transaction: nobody else has the connection."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        with translating_sqlite_errors(self._reader.db):
            yield

    async def look(self, look: Callable[[Reader], T]) -> T:
        with self._snapshot():
            return look(self._reader)

    async def _derive(self) -> None:
        self._log.added = 0
        await self.writer.run(lambda: index.catch_up(self._log.reader, limit=-1))

    async def _scrub(self) -> None:
        """Do nothing: no file keeps what was removed."""

    async def _follow(self) -> None:
        if self._log.added >= LARGEST_LAG:
            await self._derive()


def _new_database() -> SqliteDatabase:
    """Return an empty database with a secret of its own."""
    database = SqliteDatabase(":memory:")
    database.deserialize("main", _empty())
    register(database)
    database.execute("UPDATE secret SET value = randomblob(length(value))")
    return database


@cache
def _empty() -> bytes:
    """Return an empty database, which is copied faster than it is made."""
    database = SqliteDatabase(":memory:")
    make(database)
    return database.serialize("main")
