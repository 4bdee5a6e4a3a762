"""The audit log in PostgreSQL: acts are kept as pending in the commit that they tell of, and get their place in the
chain from whoever reads next, so that those who write do not wait for each other."""

from threadkeep.store.audit import PAGE, START, AuditLog, AuditRow, Head, Wanted, at_text, chained
from threadkeep_postgres.database import Database
from threadkeep_postgres.faults import MovedError


class PostgresAudit(AuditLog):
    """The acts in one database."""

    def __init__(self, database: Database, secret: bytes) -> None:
        super().__init__(secret)
        self._db = database
        self._pool = database.pool

    async def _append(self, tenant: str, row: AuditRow) -> None:
        await self._pool.call("add_act", await self._db.tenant(tenant, make=True), row.columns)

    async def _rows(self, tenant: str, wanted: Wanted, limit: int) -> list[AuditRow]:
        if not (key := await self._db.tenant(tenant)):
            return []
        await self._pool.call("make_pending", key)
        for cell in (await self._db.keys(tenant))[1:]:
            while await self._pool.call("move_acts", cell, key, PAGE):
                pass
        while pending := await self._pool.call("pending_acts", key, PAGE):
            await self._chain(tenant, key, [(each["key"], AuditRow(0, *each["act"])) for each in pending])
        return await self._stored(key, wanted, limit)

    async def _stored(self, key: int, wanted: Wanted, limit: int) -> list[AuditRow]:
        times = (moment and at_text(moment) for moment in (wanted.since, wanted.until))
        who = (wanted.actor, list(wanted.actions) or None, wanted.object)
        verb, after = ("newest_acts", wanted.after) if wanted.newest_first else ("acts", wanted.after or 0)
        found = await self._pool.call(verb, key, *who, *times, after, limit)
        return [AuditRow(*tuple(row)[1:]) for row in found]

    async def _chain(self, tenant: str, key: int, pending: list[tuple[int, AuditRow]]) -> None:
        """Give pending acts their places, unless somebody else does so just now."""
        newest = await self._stored(key, Wanted(newest_first=True), 1)
        head = Head(seq=newest[0].seq, hash=newest[0].hash) if newest else START
        rows: list[AuditRow] = []
        for _, row in pending:
            rows.append(chained(tenant, head, row))
            head = Head(seq=rows[-1].seq, hash=rows[-1].hash)
        await self._replace(key, [number for number, _ in pending], 0, rows)

    async def _replace(self, key: int, pending: list[int], through: int, rows: list[AuditRow]) -> bool:
        try:
            await self._pool.write("chain_acts", key, pending, through, [(key, *row) for row in rows])
        except MovedError:
            return False
        return True

    async def _prune(self, tenant: str, through: int, head: Head, row: AuditRow) -> bool:
        return await self._replace(await self._db.tenant(tenant, make=True), [], through, [chained(tenant, head, row)])
