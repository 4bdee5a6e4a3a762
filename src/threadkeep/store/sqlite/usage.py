"""What answers have used, in SQLite. What adds to the sums runs inside a transaction of the writer."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.writer import RunOnDatabase
from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.store.usage import MOST_MODELS, UsageSum, UsageTables, added_up

WHOLE, NOBODY = 0, -1
"""Stand in the place of a user: for all of a tenant, and for who has nothing."""
_SUMS = "day, model, currency, answers, input_tokens, output_tokens, cached_tokens, cost"
_OF = "tenant = ? AND user = ? AND day = ?"
_USERS = (
    f"SELECT n.name, {_SUMS} FROM (SELECT u.key, u.name FROM user u WHERE u.tenant = ?1 AND u.name > ?4 "
    "AND u.name < '~' AND EXISTS (SELECT 1 FROM usage s WHERE s.tenant = ?1 AND s.user = u.key "
    "AND s.day BETWEEN ?2 AND ?3) ORDER BY u.name LIMIT ?5) n "
    "JOIN usage g ON g.tenant = ?1 AND g.user = n.key AND g.day BETWEEN ?2 AND ?3 ORDER BY 1, 2, 3, 4"
)


def add_used(db: SqliteDatabase, used: Mapping[tuple[int, int], Iterable[UsageSum]]) -> None:
    """Add what users, by the keys of tenant and user, have used; it counts for their tenants, too."""
    sums: dict[tuple[int, int], list[UsageSum]] = defaultdict(list)
    for (tenant, user), more in used.items():
        sums[tenant, user] += more
        sums[tenant, WHOLE] += sums[tenant, user]
    for whose, added in sums.items():
        for each in added_up(added):
            _add(db, whose, each)


def _add(db: SqliteDatabase, whose: tuple[int, int], added: UsageSum) -> None:
    day = (*whose, added.day.isoformat())
    before = _found(db, day, added)
    if before is None and db.value(f"SELECT count(*) FROM usage WHERE {_OF}", day) >= MOST_MODELS:
        added = added._replace(model="", currency="", cost=Decimal())
        before = _found(db, day, added)
    now = added if before is None else added.plus(before)
    row = (*day, *now[1:7], f"{now.cost:f}")
    db.execute("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _found(db: SqliteDatabase, day: tuple[int, int, str], like: UsageSum) -> UsageSum | None:
    row = db.row(f"SELECT {_SUMS} FROM usage WHERE {_OF} AND model = ? AND currency = ?", (*day, *like[1:3]))
    return None if row is None else _sum(row)


def _sum(row: Sequence[Any]) -> UsageSum:
    return UsageSum._make((date.fromisoformat(row[0]), *row[1:-1], Decimal(row[-1])))


class SqliteUsage(UsageTables):
    """The sums of one file. `follow` lets them follow the log; `enter` returns the keys of a user, in a transaction."""

    def __init__(
        self,
        reader: Reader,
        run: RunOnDatabase,
        follow: Callable[[], Awaitable[None]],
        enter: Callable[[Scope], tuple[int, int]],
    ) -> None:
        self._reader, self._run, self._follow, self._enter = reader, run, follow, enter

    async def of(self, tenant: str, user: str | None, since: date, until: date) -> list[UsageSum]:
        await self._follow()
        sql = f"SELECT {_SUMS} FROM usage WHERE tenant = ? AND user = ? AND day BETWEEN ? AND ? ORDER BY 1, 2, 3"
        days = (since.isoformat(), until.isoformat())
        rows = await self._run(lambda db: db.rows(sql, (*self._keys(db, tenant, user), *days)), writes=False)
        return [_sum(row) for row in rows]

    async def users(
        self, tenant: str, since: date, until: date, *, limit: int = 100, after: str = ""
    ) -> list[tuple[str, UsageSum]]:
        await self._follow()
        place = (since.isoformat(), until.isoformat(), after, limit)
        rows = await self._run(lambda db: db.rows(_USERS, (self._keys(db, tenant, None)[0], *place)), writes=False)
        return [(row[0], _sum(row[1:])) for row in rows]

    async def add(self, scope: Scope, sums: Sequence[UsageSum]) -> None:
        await self._run(lambda db: add_used(db, {self._enter(scope): sums}))

    async def forget(self, scope: Scope) -> None:
        """Forget what a user has used; the tenant's sums stay."""
        sql = "DELETE FROM usage WHERE tenant = ? AND user = ?"
        await self._run(lambda db: db.execute(sql, self._keys(db, scope.tenant, scope.user)))

    def _keys(self, db: SqliteDatabase, tenant: str, user: str | None) -> tuple[int, int]:
        """Return the keys of a tenant and of a user or all of them; of nobody, where there is no such one."""
        whose = Scope(tenant=tenant, user=user or LOCAL.user)
        key = db.value("SELECT key FROM tenant WHERE name = ?", (self._reader.tenant_name(whose),))
        if key is None or user is None:
            return (key or NOBODY, WHOLE)
        # Of whom nothing is left but this, the name is a pseudonym.
        names = (key, user, self._reader.pseudonym(key, user))
        return (key, db.value("SELECT key FROM user WHERE tenant = ? AND name IN (?, ?)", names) or NOBODY)
