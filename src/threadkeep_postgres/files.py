"""Attachments in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from threadkeep.conversation.scope import Scope
from threadkeep.store.codec import encode_id
from threadkeep.store.file_tables import NO_CAPS, FileCaps, FileTables, FileUsage, StoredFile, Upload
from threadkeep_postgres.database import Database, Remembered

STEP = 64
"""How many chunks are removed in one transaction."""
_NOBODY = (0, 0)


class PostgresFiles(FileTables):
    """The tables in one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._pool = database.pool
        self._cells: Remembered[tuple[str, str], int] = Remembered()

    async def begin(self, scope: Scope, upload: Upload, at: datetime) -> None:
        known = (upload.id, upload.name, upload.media_type, upload.chunk)
        await self._pool.call("file_begin", *await self._db.enter(scope), scope.user, *known, at)

    async def upload(self, scope: Scope, id: str) -> Upload | None:
        rows = await self._pool.call("file_upload", *await self._db.scope(scope) or _NOBODY, id)
        return Upload(*rows[0]) if rows else None

    async def grow(self, scope: Scope, id: str, offset: int, size: int, at: datetime, caps: FileCaps = NO_CAPS) -> bool:
        keys = await self._db.scope(scope) or _NOBODY
        left = await self._left(scope.tenant, keys[0], caps)
        return bool((await self._db.ask("file_grow", *keys, id, offset, size, at, *left))["is_there"])

    async def finish(self, scope: Scope, file: StoredFile, caps: FileCaps = NO_CAPS) -> tuple[StoredFile, bool] | None:
        keys = await self._db.scope(scope) or _NOBODY
        known = (file.blob, file.id, file.name, file.media_type, file.sha256, file.touched_at)
        done = await self._db.ask("file_finish", *keys, *known, *await self._left(scope.tenant, keys[0], caps))
        found = await self.find(scope, file.id) if done["is_there"] else None
        return None if found is None else (found, done["is_new"])

    async def drop_upload(self, scope: Scope, id: str) -> bool:
        keys = await self._db.scope(scope) or _NOBODY
        return bool((await self._pool.one("file_drop_uploads", *keys, id, None))["dropped"])

    async def drop_uploads(self, tenant: str, before: datetime, user: str | None = None) -> int:
        asked = [("file_drop_uploads", *keys, None, before) for keys in await self._db.whose(tenant, user)]
        return sum([int((await self._pool.one(*each))["dropped"]) for each in asked])

    async def find(self, scope: Scope, id: str) -> StoredFile | None:
        rows = await self._pool.call("file_find", *await self._db.scope(scope) or _NOBODY, id)
        return StoredFile(*rows[0]) if rows else None

    async def touch(self, scope: Scope, id: str, at: datetime) -> None:
        await self._pool.call("file_touch", *await self._db.scope(scope) or _NOBODY, id, at)

    async def files(self, tenant: str, user: str | None, after: str, limit: int) -> list[StoredFile]:
        found = [await self._pool.call("file_rows", *keys, after, limit) for keys in await self._db.whose(tenant, user)]
        rows = sorted((row for rows in found for row in rows), key=lambda row: row["id"])
        return [StoredFile(*row) for row in rows[:limit]]

    async def unused(self, tenant: str, before: datetime, limit: int) -> list[str]:
        return [row["id"] for row in await self._db.each_cell("file_unused", tenant, before, limit)][:limit]

    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        return sum(row["removed"] for row in await self._db.each_cell("file_drop", tenant, list(ids), before))

    async def usage(self, tenant: str, user: str | None = None) -> FileUsage:
        found = [await self._pool.call("file_usage", *keys) for keys in await self._db.whose(tenant, user)]
        return FileUsage(*(sum(row[name] for rows in found for row in rows) for name in ("files", "bytes")))

    async def used_bytes(self, tenant: str, user: str | None = None, conversation: str | None = None) -> int:
        id = None if conversation is None else encode_id(conversation)
        asked = [("file_used_bytes", *keys, id) for keys in await self._db.whose(tenant, user)]
        return sum([int((await self._pool.one(*each))["bytes"]) for each in asked])

    async def tenants(self) -> tuple[str, ...]:
        return await self._db.tenants()

    async def dropped(self, tenant: str, limit: int) -> list[str]:
        return [row["id"] for row in await self._db.each_cell("file_dropped", tenant, limit)][:limit]

    async def forget(self, tenant: str, blob: str) -> None:
        await self._pool.call("file_forget", await self._cell(tenant, blob), blob)

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        await self._pool.call("file_put", await self._cell(tenant, blob), blob, number, data)

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        rows = await self._pool.call("file_get", await self._cell(tenant, blob), blob, number)
        return rows[0]["data"] if rows else None

    async def remove(self, tenant: str, blob: str) -> None:
        key = await self._cell(tenant, blob)
        while (await self._pool.one("file_remove", key, blob, STEP))["removed"] == STEP:
            pass

    async def _cell(self, tenant: str, blob: str) -> int:
        """Return the cell that has a blob: that of whoever brought its content first."""
        home, *others = await self._db.keys(tenant)
        cell = self._cells.get((tenant, blob)) if others else home
        if cell is None:
            there = [key for key in (home, *others) if await self._pool.call("file_is_in", key, blob)]
            cell = self._cells[tenant, blob] = there[0] if there else home
        return cell

    async def _left(self, tenant: str, cell: int, caps: FileCaps) -> FileCaps:
        """Return what the caps leave to a cell beside the others, which are counted a moment before."""
        others = [key for key in await self._db.keys(tenant) if key != cell] if caps.tenant else []
        found = [await self._pool.call("file_usage", key, None) for key in others]
        used = sum(row["bytes"] for rows in found for row in rows)
        return FileCaps(caps.user, max(1, caps.tenant - used)) if used else caps

    async def scrub(self) -> None:
        # Where somebody uses a table without a pause, autovacuum gives its room away in time.
        await self._db.rewrite("file_chunk", "file", "file_blob")
