"""Notes in SQLite."""

import json
from collections.abc import Collection

from threadkeep.store.notes import Note, Notes
from threadkeep.store.sqlite.writer import RunOnDatabase

_LAST = "\U0010ffff"
"""What comes behind every name with the same beginning."""
_ADD = "INSERT INTO note VALUES (?1, ?2, ?3 + 1, ?4) ON CONFLICT DO NOTHING RETURNING 1"
_THIS = "WHERE (tenant, name, version) = (?1, ?2, ?3)"


class SqliteNotes(Notes):
    """The notes of one file."""

    def __init__(self, run: RunOnDatabase) -> None:
        self._run = run

    async def read(self, tenant: str, names: Collection[str]) -> dict[str, Note]:
        sql = "SELECT name, version, text FROM note WHERE tenant = ? AND name IN (SELECT value FROM json_each(?))"
        rows = await self._run(lambda db: db.rows(sql, (tenant, json.dumps(list(names)))), writes=False)
        return {name: Note(version, text) for name, version, text in rows}

    async def list(self, tenant: str, beginning: str, *, limit: int = 100, after: str = "") -> list[tuple[str, Note]]:
        sql = "SELECT name, version, text FROM note WHERE tenant = ? AND name BETWEEN ? AND ? AND name > ? LIMIT ?"
        place = (tenant, beginning, beginning + _LAST, after, limit)
        rows = await self._run(lambda db: db.rows(sql, place), writes=False)
        return [(name, Note(version, text)) for name, version, text in rows]

    async def tenants(self, beginning: str) -> tuple[str, ...]:
        sql = "SELECT DISTINCT tenant FROM note WHERE name BETWEEN ? AND ? ORDER BY tenant"
        rows = await self._run(lambda db: db.rows(sql, (beginning, beginning + _LAST)), writes=False)
        return tuple(tenant for (tenant,) in rows)

    async def write(self, tenant: str, name: str, text: str | None, version: int = 0) -> bool:
        change = f"UPDATE note SET version = version + 1, text = ?4 {_THIS} RETURNING 1" if version else _ADD
        sql = change if text is not None else f"DELETE FROM note {_THIS} RETURNING ?4 IS NULL"
        return bool(await self._run(lambda db: db.rows(sql, (tenant, name, version, text))))
