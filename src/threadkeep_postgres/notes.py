"""Notes in PostgreSQL."""

from collections.abc import Collection

from threadkeep.store.notes import Note, Notes
from threadkeep_postgres.database import Database

_LAST = "\U0010ffff"
"""What comes behind every name with the same beginning."""


class PostgresNotes(Notes):
    """The notes in one database. Where Citus distributes it, they are on the coordinator."""

    def __init__(self, database: Database) -> None:
        self._pool = database.pool

    async def read(self, tenant: str, names: Collection[str]) -> dict[str, Note]:
        rows = await self._pool.call("notes_named", tenant, list(names))
        return {name: Note(version, text) for name, version, text in rows}

    async def list(self, tenant: str, beginning: str, *, limit: int = 100, after: str = "") -> list[tuple[str, Note]]:
        rows = await self._pool.call("notes_after", tenant, beginning, beginning + _LAST, after, limit)
        return [(name, Note(version, text)) for name, version, text in rows]

    async def tenants(self, beginning: str) -> tuple[str, ...]:
        rows = await self._pool.call("note_tenants", beginning, beginning + _LAST)
        return tuple(row["tenant"] for row in rows)

    async def write(self, tenant: str, name: str, text: str | None, version: int = 0) -> bool:
        if text is None:
            return bool(await self._pool.call("drop_note", tenant, name, version))
        if version:
            return bool(await self._pool.call("change_note", tenant, name, version, text))
        return bool(await self._pool.call("add_note", tenant, name, text))
