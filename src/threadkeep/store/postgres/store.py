"""The PostgreSQL store: the rules decide what is written, commits are shared, and every read is one call."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Self, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Turn
from threadkeep.errors import StoreUnavailable
from threadkeep.store.base import (
    ROOT,
    Created,
    HitPage,
    LogPage,
    Statistics,
)
from threadkeep.store.paging import Listed, ListQuery, check_limit
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.deletion import Deletion
from threadkeep.store.postgres.index import Index
from threadkeep.store.postgres.keyring import PostgresKeyRing
from threadkeep.store.postgres.notify_channel import PostgresNotifyChannel
from threadkeep.store.postgres.pool import Pool
from threadkeep.store.postgres.reading import Reader
from threadkeep.store.postgres.schema import check
from threadkeep.store.postgres.searching import Searcher
from threadkeep.store.postgres.writing import Log
from threadkeep.store.ruled import PageOfHits, RuledStore
from threadkeep.store.rules import Verb, check_new
from threadkeep.text.search import Query

T = TypeVar("T")

PING_SECONDS = 2.0


class PostgresStore(RuledStore):
    """Conversations in a PostgreSQL database."""

    def __init__(self, pool: Pool, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(clock, ids, max_bytes)
        self._pool = pool
        self.keyring = PostgresKeyRing(pool)
        database = Database(pool)
        self._reader = Reader(database)
        self._log = Log(database, self._reader, ids)
        self._deletion = Deletion(database, self._log)
        self._index = Index(database)
        self._searcher = Searcher(database, self._index)

    @classmethod
    async def open(cls, url: str, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the database, whose schema must be current."""
        await check(url)
        return cls(Pool(url), clock, ids, max_bytes)

    async def close(self) -> None:
        await self._log.close()
        await self._index.close()
        await self._pool.close()

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._pool.call("ping")
        except TimeoutError:
            raise StoreUnavailable("The database does not answer.") from None

    def notify_channel(self) -> PostgresNotifyChannel:
        return PostgresNotifyChannel(self._pool.address.direct())

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        answer, entries = await self._log.write(scope, conversation, verb)
        if entries:
            self._index.note(entries)
        return answer

    # Conversations

    async def create(
        self, scope: Scope, new: NewConversation, *, key: IdempotencyKey | None = None, at: datetime | None = None
    ) -> Created:
        check_new(new)
        return await self._log.create(scope, new, key, at or self._clock())

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return await self._reader.conversation(scope, conversation)

    async def _list(self, asked: ListQuery) -> Sequence[Listed]:
        return await self._reader.list(asked)

    async def delete(self, scope: Scope, conversation: str) -> None:
        await self._deletion.hide(scope, conversation)

    async def restore(self, scope: Scope, conversation: str) -> Conversation:
        return await self._deletion.restore(scope, conversation)

    async def purge(self, kept_for: timedelta) -> int:
        return await self._deletion.purge(kept_for)

    # The log and its tree

    async def tree(self, scope: Scope, conversation: str) -> Tree:
        return await self._reader.tree(scope, conversation)

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        return await self._reader.entry(scope, conversation, seq)

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        return await self._reader.newest(scope, conversation, head, None, check_limit(limit))

    async def before(self, scope: Scope, conversation: str, seq: int, *, limit: int = 20) -> tuple[Entry, ...]:
        return await self._reader.newest(scope, conversation, None, seq, check_limit(limit))

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        return await self._reader.after(scope, conversation, seq, head, check_limit(limit))

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None, after: int = ROOT) -> int:
        return await self._reader.count(scope, conversation, head, after)

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        return await self._reader.log(scope, conversation, after, check_limit(limit))

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        return await self._reader.state(scope, conversation, at)

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        return await self._reader.summary(scope, conversation, head)

    # Turns

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        return await self._reader.turns(scope, conversation)

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        return await self._reader.expired(lease_for, check_limit(limit))

    # Across conversations

    async def _search(
        self, scope: Scope, query: Query, conversation: str | None, bound: int | None, page: PageOfHits
    ) -> HitPage:
        return page(*await self._searcher.search(scope, query, conversation, bound))

    async def _related(
        self, scope: Scope, conversation: str, terms: Sequence[str], before: int, limit: int
    ) -> tuple[Entry, ...]:
        return await self._searcher.related(scope, conversation, terms, before, limit)

    async def statistics(self, tenant: str, *, user: str | None = None) -> Statistics:
        return await self._reader.statistics(check_id(tenant), user)

    async def users(self, tenant: str) -> tuple[str, ...]:
        return await self._reader.users(check_id(tenant))

    async def tenants(self) -> tuple[str, ...]:
        return await self._reader.tenants()
