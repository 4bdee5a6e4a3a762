"""Attachments in SQLite, beside the conversations that use them."""

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from threadkeep.conversation.scope import Scope
from threadkeep.errors import StorageFull
from threadkeep.store.codec import encode_id, microseconds, moment
from threadkeep.store.file_tables import NO_CAPS, FileCaps, FileTables, FileUsage, StoredFile, Upload
from threadkeep.store.sqlite.writer import RunOnDatabase
from threadkeep.store.sqlite_file import SqliteDatabase

STEP = 16
"""How many chunks are removed in one transaction."""
DELETED = 0
"""When a file was touched whose conversations were all deleted: it is missing until one is restored."""
_FILE = (
    "SELECT f.user, f.id, f.name, f.media_type, b.size, b.sha256, f.blob, b.chunk, f.created_at, f.touched_at "
    "FROM file f JOIN file_blob b ON b.id = f.blob"
)
_MINE = "tenant = ? AND user = ? AND id = ?"
_UNUSED = "f.tenant = ? AND f.touched_at < ? AND NOT EXISTS (SELECT 1 FROM file_use u WHERE u.file = f.id)"


class SqliteFiles(FileTables):
    """The tables of a store. `scrub` overwrites what is left of removed rows."""

    def __init__(self, run: RunOnDatabase, scrub: Callable[[], Awaitable[None]]) -> None:
        self._run = run
        self._scrub = scrub

    # Uploads

    async def begin(self, scope: Scope, upload: Upload, at: datetime) -> None:
        row = (upload.id, scope.tenant, scope.user, upload.name, upload.media_type, upload.size, upload.chunk)
        await self._run(
            lambda db: db.execute(
                "INSERT INTO file_blob (id, tenant, user, name, media_type, size, chunk, touched_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, microseconds(at)),
            )
        )

    async def upload(self, scope: Scope, id: str) -> Upload | None:
        sql = f"SELECT id, name, media_type, size, chunk FROM file_blob WHERE {_MINE} AND sha256 IS NULL"
        row = await self._run(lambda db: db.row(sql, (scope.tenant, scope.user, id)), writes=False)
        return None if row is None else Upload(*row)

    async def grow(self, scope: Scope, id: str, offset: int, size: int, at: datetime, caps: FileCaps = NO_CAPS) -> bool:
        sql = (
            f"UPDATE file_blob SET size = ?, touched_at = ? WHERE {_MINE} AND sha256 IS NULL AND size = ? RETURNING id"
        )
        found = (size, microseconds(at), scope.tenant, scope.user, id, offset)

        def change(db: SqliteDatabase) -> bool:
            _check_room(db, scope, caps, (size - offset, size - offset))
            return db.row(sql, found) is not None

        return await self._run(change)

    async def finish(self, scope: Scope, file: StoredFile, caps: FileCaps = NO_CAPS) -> tuple[StoredFile, bool] | None:
        return await self._run(lambda db: _finish(db, scope, file, caps))

    async def drop_upload(self, scope: Scope, id: str) -> bool:
        sql = f"UPDATE file_blob SET user = NULL WHERE {_MINE} AND sha256 IS NULL RETURNING id"
        return await self._run(lambda db: db.row(sql, (scope.tenant, scope.user, id))) is not None

    async def drop_uploads(self, tenant: str, before: datetime, user: str | None = None) -> int:
        sql = (
            "UPDATE file_blob SET user = NULL WHERE tenant = ? AND sha256 IS NULL AND user IS NOT NULL "
            "AND touched_at < ? AND (?3 IS NULL OR user = ?3) RETURNING id"
        )
        return len(await self._run(lambda db: db.rows(sql, (tenant, microseconds(before), user))))

    # Files

    async def find(self, scope: Scope, id: str) -> StoredFile | None:
        sql = f"{_FILE} WHERE f.tenant = ? AND f.user = ? AND f.id = ? AND f.touched_at > {DELETED}"
        row = await self._run(lambda db: db.row(sql, (scope.tenant, scope.user, id)), writes=False)
        return None if row is None else _file(row)

    async def touch(self, scope: Scope, id: str, at: datetime) -> None:
        sql = f"UPDATE file SET touched_at = ? WHERE {_MINE}"
        await self._run(lambda db: db.execute(sql, (microseconds(at), scope.tenant, scope.user, id)))

    async def files(self, tenant: str, user: str | None, after: str, limit: int) -> list[StoredFile]:
        whose = "" if user is None else "AND f.user = ?2"
        sql = f"{_FILE} WHERE f.tenant = ?1 {whose} AND f.id > ?3 ORDER BY f.id LIMIT ?4"
        rows = await self._run(lambda db: db.rows(sql, (tenant, user, after, limit)), writes=False)
        return [_file(row) for row in rows]

    async def unused(self, tenant: str, before: datetime, limit: int) -> list[str]:
        sql = f"SELECT f.id FROM file f WHERE {_UNUSED} LIMIT ?"
        rows = await self._run(lambda db: db.rows(sql, (tenant, microseconds(before), limit)), writes=False)
        return [id for (id,) in rows]

    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        def remove(db: SqliteDatabase) -> int:
            chosen = "f.tenant = ?"
            values: list[Any] = [tenant]
            if before is not None:
                chosen, values = _UNUSED, [tenant, microseconds(before)]
            sql = f"SELECT f.id, f.blob FROM file f WHERE {chosen} AND f.id IN (SELECT value FROM json_each(?))"
            found = db.rows(sql, (*values, json.dumps(list(ids))))
            db.executemany("DELETE FROM file WHERE id = ?", [row[:1] for row in found])
            db.executemany(
                "UPDATE file_blob SET sha256 = NULL WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM file WHERE blob = ?1)",
                [row[1:] for row in found],
            )
            return len(found)

        return await self._run(remove)

    async def usage(self, tenant: str, user: str | None = None) -> FileUsage:
        sql = "SELECT files, bytes FROM file_total WHERE tenant = ? AND user = ?"
        row = await self._run(lambda db: db.row(sql, (tenant, user or "")), writes=False)
        return FileUsage(*row) if row else FileUsage(0, 0)

    async def used_bytes(self, tenant: str, user: str | None = None, conversation: str | None = None) -> int:
        used = (
            "SELECT u.file FROM file_use u JOIN conversation c ON c.key = u.conversation "
            "WHERE c.tenant = (SELECT key FROM tenant WHERE name = ?1) AND c.id IS NOT NULL "
            "AND (?3 IS NULL OR c.id = ?3)"
        )
        sql = (
            "SELECT coalesce(sum(b.size), 0) FROM file f JOIN file_blob b ON b.id = f.blob WHERE f.tenant = ?1 "
            f"AND (?2 IS NULL OR f.user = ?2) AND f.id IN ({used})"
        )
        id = None if conversation is None else encode_id(conversation)
        return int(await self._run(lambda db: db.value(sql, (tenant, user, id)), writes=False))

    async def tenants(self) -> tuple[str, ...]:
        sql = "SELECT tenant FROM file_total WHERE user = '' ORDER BY tenant"
        return tuple(name for (name,) in await self._run(lambda db: db.rows(sql), writes=False))

    # Blobs

    async def dropped(self, tenant: str, limit: int) -> list[str]:
        sql = "SELECT id FROM file_blob WHERE tenant = ? AND sha256 IS NULL AND user IS NULL LIMIT ?"
        return [id for (id,) in await self._run(lambda db: db.rows(sql, (tenant, limit)), writes=False)]

    async def forget(self, tenant: str, blob: str) -> None:
        sql = "DELETE FROM file_blob WHERE tenant = ? AND id = ? AND sha256 IS NULL AND user IS NULL"
        await self._run(lambda db: db.execute(sql, (tenant, blob)))

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        sql = "INSERT OR REPLACE INTO file_chunk VALUES (?, ?, ?)"
        await self._run(lambda db: db.execute(sql, (blob, number, data)))

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        sql = "SELECT data FROM file_chunk WHERE blob = ? AND number = ?"
        found: bytes | None = await self._run(lambda db: db.value(sql, (blob, number)), writes=False)
        return found

    async def remove(self, tenant: str, blob: str) -> None:
        chosen = f"SELECT number FROM file_chunk WHERE blob = ?1 LIMIT {STEP}"
        sql = f"DELETE FROM file_chunk WHERE blob = ?1 AND number IN ({chosen}) RETURNING number"
        while len(await self._run(lambda db: db.rows(sql, (blob,)))) == STEP:
            pass

    async def scrub(self) -> None:
        await self._scrub()


def _check_room(
    db: SqliteDatabase, scope: Scope, caps: FileCaps, brought: tuple[int, int], *, only_files: bool = False
) -> None:
    """Refuse what is brought to a user and to a tenant if it is more than they may have, with uploads or without."""
    for cap, user, size in zip(caps, (scope.user, ""), brought, strict=True):
        if cap:
            kept = db.value("SELECT bytes FROM file_total WHERE tenant = ? AND user = ?", (scope.tenant, user)) or 0
            if only_files:
                whose = "AND user = ?2" if user else ""
                sql = f"SELECT coalesce(sum(size), 0) FROM file_blob WHERE tenant = ?1 AND sha256 IS NULL {whose}"
                kept -= db.value(sql, (scope.tenant, user) if user else (scope.tenant,))
            if kept + size > cap:
                raise StorageFull


def _finish(db: SqliteDatabase, scope: Scope, file: StoredFile, caps: FileCaps) -> tuple[StoredFile, bool] | None:
    found = db.row(f"SELECT 1 FROM file_blob WHERE {_MINE} AND sha256 IS NULL", (scope.tenant, scope.user, file.blob))
    if found is None:
        return None
    same = db.value("SELECT id FROM file_blob WHERE tenant = ? AND sha256 = ?", (scope.tenant, file.sha256))
    known = db.value("SELECT 1 FROM file WHERE id = ?", (file.id,))
    if not known:
        _check_room(db, scope, caps, (file.size, 0 if same else file.size), only_files=True)
    db.execute(
        "UPDATE file_blob SET user = NULL, name = NULL, media_type = NULL, sha256 = ? WHERE id = ?",
        (None if same else file.sha256, file.blob),
    )
    at = microseconds(file.touched_at)
    db.execute(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET touched_at = excluded.touched_at",
        (file.id, scope.tenant, scope.user, file.name, file.media_type, same or file.blob, at, at),
    )
    return _file(db.row(f"{_FILE} WHERE f.id = ?", (file.id,))), not known


def _file(row: Sequence[Any]) -> StoredFile:
    return StoredFile._make((*row[:-2], *map(moment, row[-2:])))
