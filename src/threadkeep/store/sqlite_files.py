"""Attachments in SQLite: in the file of the SQLite store, and in a database of their own for the stores in memory and
in a folder."""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar

from apsw import SQLITE_CHECKPOINT_TRUNCATE

from threadkeep.conversation.scope import Scope
from threadkeep.errors import StorageFull
from threadkeep.store.codec import microseconds, moment
from threadkeep.store.file_tables import NO_CAPS, FileCaps, FileTables, FileUsage, StoredFile, Upload
from threadkeep.store.sqlite_file import Database, connect, translating_sqlite_errors

T = TypeVar("T")
STEP = 16
"""How many chunks are removed in one transaction."""
DELETED = 0
"""When a file was touched whose conversations were all deleted: it is missing until one is restored."""
_FILE = (
    "SELECT f.user, f.id, f.name, f.media_type, b.size, b.sha256, f.blob, b.chunk, f.created_at, f.touched_at "
    "FROM file f JOIN file_blob b ON b.id = f.blob"
)
_MINE = "tenant = ? AND user = ? AND id = ?"
_UNUSED = (
    "f.tenant = ? AND f.touched_at < ? AND NOT EXISTS (SELECT 1 FROM file_use u WHERE u.file = f.id) "
    "AND f.id NOT IN (SELECT value FROM json_each(?))"
)


class Run(Protocol):
    """Runs work on a connection: in a transaction if it writes."""

    def __call__(self, work: Callable[[Database], T], *, writes: bool = True) -> Awaitable[T]:
        """Return what the work returns, once it is durable."""


def make_tables(database: Database) -> None:
    """Make the tables that are missing in a database of their own."""
    if not database.value("SELECT 1 FROM sqlite_schema WHERE name = 'file_blob'"):
        schema = files("threadkeep.store.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
        database.execute(schema[schema.index("-- Attachments") :])


def in_transaction(database: Database, work: Callable[[Database], T]) -> T:
    """Do the work in a transaction that nobody else writes in."""
    database.execute("BEGIN IMMEDIATE")
    try:
        done = work(database)
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")
    return done


class OwnFile:
    """A file with these tables alone, opened when it is first written. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: Database | None = None
        self._lock = Lock()

    def run(self, work: Callable[[Database], T], *, writes: bool) -> T:
        """Do the work; as long as there is no file, nothing is found."""
        with self._lock:
            database = self._database
            if database is None and not writes and not self._path.exists():
                database = Database(":memory:")
                make_tables(database)
            elif database is None:
                database = self._database = self._open()
            with translating_sqlite_errors(database):
                return in_transaction(database, work) if writes else work(database)

    def _open(self) -> Database:
        database = connect(self._path)
        with translating_sqlite_errors(database):
            database.pragma("wal_autocheckpoint", 1000)
            in_transaction(database, make_tables)
        return database

    def scrub(self) -> None:
        """Empty the log; the rows themselves were overwritten when they were removed."""
        with self._lock:
            if self._database is not None:
                with translating_sqlite_errors(self._database):
                    self._database.wal_checkpoint(mode=SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None


class Uses(Protocol):
    """Knows the files that conversations use."""

    def live(self, db: Database, tenant: str, conversation: str | None) -> Iterable[str]:
        """Return the files that one conversation or all conversations of a tenant use; deleted ones use none."""

    def kept_elsewhere(self, tenant: str) -> Set[str]:
        """Return all files in use that the tables do not know of, those of deleted conversations included."""


class SqliteFiles(FileTables):
    """The tables in one database. `scrubber` overwrites what is left of removed rows."""

    def __init__(self, run: Run, uses: Uses, scrubber: Callable[[], Awaitable[None]] | None = None) -> None:
        self._run = run
        self._uses = uses
        self._scrubber = scrubber

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

        def change(db: Database) -> bool:
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

    async def note_deletion(self, ids: Iterable[str]) -> None:
        """Note that the conversations that use these files were all deleted."""
        sql = f"UPDATE file SET touched_at = {DELETED} WHERE id = ?"
        if rows := [(id,) for id in ids]:
            await self._run(lambda db: db.executemany(sql, rows))

    async def note_restoration(self, ids: Iterable[str], at: datetime) -> None:
        """Note that a conversation is back that uses these files."""
        sql = f"UPDATE file SET touched_at = ? WHERE id = ? AND touched_at = {DELETED}"
        if rows := [(microseconds(at), id) for id in ids]:
            await self._run(lambda db: db.executemany(sql, rows))

    async def files(self, tenant: str, user: str | None, after: str, limit: int) -> list[StoredFile]:
        whose = "" if user is None else "AND f.user = ?2"
        sql = f"{_FILE} WHERE f.tenant = ?1 {whose} AND f.id > ?3 ORDER BY f.id LIMIT ?4"
        rows = await self._run(lambda db: db.rows(sql, (tenant, user, after, limit)), writes=False)
        return [_file(row) for row in rows]

    async def unused(self, tenant: str, before: datetime, limit: int) -> list[str]:
        def look(db: Database) -> list[str]:
            sql = f"SELECT f.id FROM file f WHERE {_UNUSED} LIMIT ?"
            used = json.dumps(list(self._uses.kept_elsewhere(tenant)))
            return [id for (id,) in db.rows(sql, (tenant, microseconds(before), used, limit))]

        return await self._run(look, writes=False)

    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        def remove(db: Database) -> int:
            chosen = "f.tenant = ?"
            values: list[Any] = [tenant]
            if before is not None:
                used = json.dumps(list(self._uses.kept_elsewhere(tenant)))
                chosen, values = _UNUSED, [tenant, microseconds(before), used]
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
        def look(db: Database) -> int:
            sql = (
                "SELECT coalesce(sum(b.size), 0) FROM file f JOIN file_blob b ON b.id = f.blob WHERE f.tenant = ?1 "
                "AND (?2 IS NULL OR f.user = ?2) AND f.id IN (SELECT value FROM json_each(?3))"
            )
            live = json.dumps(list(self._uses.live(db, tenant, conversation)))
            return int(db.value(sql, (tenant, user, live)))

        return await self._run(look, writes=False)

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
        if self._scrubber is not None:
            await self._scrubber()


def _check_room(
    db: Database, scope: Scope, caps: FileCaps, brought: tuple[int, int], *, only_files: bool = False
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


def _finish(db: Database, scope: Scope, file: StoredFile, caps: FileCaps) -> tuple[StoredFile, bool] | None:
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
