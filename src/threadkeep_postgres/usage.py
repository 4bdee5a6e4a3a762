"""What answers have used, in PostgreSQL."""

from collections.abc import Sequence
from datetime import date

from threadkeep.conversation.scope import Scope
from threadkeep.store.usage import UsageSum, UsageTables, added_up
from threadkeep_postgres.database import Database
from threadkeep_postgres.search import Index

NOBODY = -1


class PostgresUsage(UsageTables):
    """The sums in one database, which the index lets follow the log."""

    def __init__(self, database: Database, index: Index) -> None:
        self._db = database
        self._index = index

    async def of(self, tenant: str, user: str | None, since: date, until: date) -> list[UsageSum]:
        sums = []
        for cell, owner in await self._db.whose(tenant, user):
            await self._index.catch_up(cell, owner)
            rows = await self._db.pool.call("usage_of", cell, owner or (0 if user is None else NOBODY), since, until)
            sums += [UsageSum(*row) for row in rows]
        return added_up(sums)

    async def users(
        self, tenant: str, since: date, until: date, *, limit: int = 100, after: str = ""
    ) -> list[tuple[str, UsageSum]]:
        found = []
        for cell in await self._db.keys(tenant):
            await self._index.catch_up(cell)
            rows = await self._db.pool.call("usage_users", cell, since, until, limit, after)
            found += [(row[0], UsageSum(*row[1:])) for row in rows]
        first = set(sorted({user for user, _ in found})[:limit])
        return sorted(each for each in found if each[0] in first)

    async def add(self, scope: Scope, sums: Sequence[UsageSum]) -> None:
        cell, owner = await self._db.enter(scope)
        await self._index.count(cell, [(owner, None, None, *each) for each in sums])
