"""The audit log in SQLite: a row gets its place in the chain in the transaction that it comes with."""

from collections.abc import Sequence
from typing import Any

from threadkeep.store.audit import START, AuditLog, AuditRow, Head, Wanted, chained
from threadkeep.store.sqlite.writer import RunOnDatabase
from threadkeep.store.sqlite_file import SqliteDatabase

_COLUMNS = ", ".join(AuditRow._fields)
_TENANT = "tenant = (SELECT key FROM tenant WHERE name = ?)"


class SqliteAudit(AuditLog):
    """The acts in one file."""

    def __init__(self, secret: bytes, run: RunOnDatabase) -> None:
        super().__init__(secret)
        self._run = run

    async def _append(self, tenant: str, row: AuditRow) -> None:
        await self._run(lambda db: add_act(db, tenant, row))

    async def _rows(self, tenant: str, wanted: Wanted, limit: int) -> list[AuditRow]:
        asked, values, table = [_TENANT], [tenant], "audit"
        for name, sign, value in wanted.conditions():
            asked.append(f"{name} {sign} ?")
            values.append(value)
        if wanted.actions:
            # Left alone, SQLite would go through the whole log in its order.
            table = "audit INDEXED BY audit_by_action"
            asked.append(f"action IN ({', '.join('?' * len(wanted.actions))})")
            values += wanted.actions
        order = "DESC" if wanted.newest_first else "ASC"
        sql = f"SELECT {_COLUMNS} FROM {table} WHERE {' AND '.join(asked)} ORDER BY seq {order} LIMIT ?"
        found = await self._run(lambda db: db.rows(sql, (*values, limit)), writes=False)
        return [AuditRow(*row) for row in found]

    async def _prune(self, tenant: str, through: int, head: Head, row: AuditRow) -> bool:
        def change(db: SqliteDatabase) -> bool:
            if _head(db, tenant) != head:
                return False
            add_act(db, tenant, row)  # behind the last one, which may be removed
            db.execute(f"DELETE FROM audit WHERE {_TENANT} AND seq <= ?", (tenant, through))
            return True

        return await self._run(change)


def add_act(db: SqliteDatabase, tenant: str, row: AuditRow) -> None:
    """Add a row in the present transaction."""
    db.execute("INSERT OR IGNORE INTO tenant (name) VALUES (?)", (tenant,))
    db.execute(
        f"INSERT INTO audit (tenant, {_COLUMNS}) "
        f"VALUES ((SELECT key FROM tenant WHERE name = ?), {', '.join('?' * len(row))})",
        (tenant, *chained(tenant, _head(db, tenant), row)),
    )


def _head(db: SqliteDatabase, tenant: str) -> Head:
    found: Sequence[Any] | None = db.row(
        f"SELECT seq, hash FROM audit WHERE {_TENANT} ORDER BY seq DESC LIMIT 1", (tenant,)
    )
    return Head(seq=found[0], hash=found[1]) if found else START
