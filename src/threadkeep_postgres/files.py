"""Attachments in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from threadkeep.conversation.scope import Scope
from threadkeep.store.codec import encode_id
from threadkeep.store.file_tables import NO_CAPS, FileCaps, FileTables, FileUsage, StoredFile, Upload
from threadkeep_postgres.database import Database

STEP = 64
"""How many chunks are removed in one transaction."""
_NOBODY = (0, 0)


class PostgresFiles(FileTables):
    """The tables in one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._pool = database.pool

    async def begin(self, scope: Scope, upload: Upload, at: datetime) -> None:
        known = (upload.id, upload.name, upload.media_type, upload.chunk)
        await self._pool.call("file_begin", *await self._db.enter(scope), scope.user, *known, at)

    async def upload(self, scope: Scope, id: str) -> Upload | None:
        rows = await self._pool.call("file_upload", *await self._db.scope(scope) or _NOBODY, id)
        return Upload(*rows[0]) if rows else None

    async def grow(self, scope: Scope, id: str, offset: int, size: int, at: datetime, caps: FileCaps = NO_CAPS) -> bool:
        keys = await self._db.scope(scope) or _NOBODY
        return bool((await self._db.ask("file_grow", *keys, id, offset, size, at, *caps))["is_there"])

    async def finish(self, scope: Scope, file: StoredFile, caps: FileCaps = NO_CAPS) -> tuple[StoredFile, bool] | None:
        keys = await self._db.scope(scope) or _NOBODY
        known = (file.blob, file.id, file.name, file.media_type, file.sha256, file.touched_at)
        done = await self._db.ask("file_finish", *keys, *known, *caps)
        found = await self.find(scope, file.id) if done["is_there"] else None
        return None if found is None else (found, done["is_new"])

    async def drop_upload(self, scope: Scope, id: str) -> bool:
        keys = await self._db.scope(scope) or _NOBODY
        return bool((await self._pool.one("file_drop_uploads", *keys, id, None))["dropped"])

    async def drop_uploads(self, tenant: str, before: datetime, user: str | None = None) -> int:
        keys = await self._db.whose(tenant, user)
        return int((await self._pool.one("file_drop_uploads", *keys, None, before))["dropped"])

    async def find(self, scope: Scope, id: str) -> StoredFile | None:
        rows = await self._pool.call("file_find", *await self._db.scope(scope) or _NOBODY, id)
        return StoredFile(*rows[0]) if rows else None

    async def touch(self, scope: Scope, id: str, at: datetime) -> None:
        await self._pool.call("file_touch", *await self._db.scope(scope) or _NOBODY, id, at)

    async def files(self, tenant: str, user: str | None, after: str, limit: int) -> list[StoredFile]:
        rows = await self._pool.call("file_rows", *await self._db.whose(tenant, user), after, limit)
        return [StoredFile(*row) for row in rows]

    async def unused(self, tenant: str, before: datetime, limit: int) -> list[str]:
        return [row["id"] for row in await self._pool.call("file_unused", await self._db.tenant(tenant), before, limit)]

    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        row = await self._pool.one("file_drop", await self._db.tenant(tenant), list(ids), before)
        return int(row["removed"])

    async def usage(self, tenant: str, user: str | None = None) -> FileUsage:
        rows = await self._pool.call("file_usage", *await self._db.whose(tenant, user))
        return FileUsage(*rows[0]) if rows else FileUsage(0, 0)

    async def used_bytes(self, tenant: str, user: str | None = None, conversation: str | None = None) -> int:
        id = None if conversation is None else encode_id(conversation)
        return int((await self._pool.one("file_used_bytes", *await self._db.whose(tenant, user), id))["bytes"])

    async def tenants(self) -> tuple[str, ...]:
        return tuple(row["name"] for row in await self._pool.call("tenants", None, None))

    async def dropped(self, tenant: str, limit: int) -> list[str]:
        return [row["id"] for row in await self._pool.call("file_dropped", await self._db.tenant(tenant), limit)]

    async def forget(self, tenant: str, blob: str) -> None:
        await self._pool.call("file_forget", await self._db.tenant(tenant), blob)

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        await self._pool.call("file_put", await self._db.tenant(tenant), blob, number, data)

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        rows = await self._pool.call("file_get", await self._db.tenant(tenant), blob, number)
        return rows[0]["data"] if rows else None

    async def remove(self, tenant: str, blob: str) -> None:
        key = await self._db.tenant(tenant)
        while (await self._pool.one("file_remove", key, blob, STEP))["removed"] == STEP:
            pass

    async def scrub(self) -> None:
        # Where somebody uses a table without a pause, autovacuum gives its room away in time.
        await self._db.rewrite("file_chunk", "file", "file_blob")
