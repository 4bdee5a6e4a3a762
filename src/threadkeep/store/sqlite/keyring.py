"""API keys in SQLite."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.keyring import KeyRing
from threadkeep.store.moments import microseconds, moment
from threadkeep.store.sqlite.connection import Database, translated
from threadkeep.store.sqlite.writer import Writer

_SELECT = "SELECT id, digest, hint, tenant, user, role, created_at, revoked_at FROM api_key"


class SqliteKeyRing(KeyRing):
    """The keys in one file."""

    def __init__(self, writer: Writer, reading: Database) -> None:
        self._writer = writer
        self._reading = reading

    async def add(self, key: ApiKey) -> None:
        await self._writer.run(lambda: self._add(key))

    def _add(self, key: ApiKey) -> None:
        db = self._writer.connection
        if db.value("SELECT 1 FROM api_key WHERE digest = ? OR id = ?", (key.digest, key.id)):
            raise AlreadyExists("There is a key with this id already.")
        revoked = None if key.revoked_at is None else microseconds(key.revoked_at)
        owner = (key.scope.tenant, key.scope.user, key.role)
        db.execute(
            "INSERT INTO api_key (id, digest, hint, tenant, user, role, created_at, revoked_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (key.id, key.digest, key.hint, *owner, microseconds(key.created_at), revoked),
        )

    async def find(self, digest: bytes) -> ApiKey | None:
        with translated(self._reading):
            row = self._reading.row(f"{_SELECT} WHERE digest = ?", (digest,))
        return None if row is None else _key(row)

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        with translated(self._reading):
            rows = self._reading.rows(f"{_SELECT} WHERE ?1 IS NULL OR tenant = ?1 ORDER BY created_at, id", (tenant,))
        return tuple(_key(row) for row in rows)

    async def revoke(self, id: str, at: datetime) -> ApiKey:
        return await self._writer.run(lambda: self._revoke(id, at))

    def _revoke(self, id: str, at: datetime) -> ApiKey:
        db = self._writer.connection
        db.execute("UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (microseconds(at), id))
        row = db.row(f"{_SELECT} WHERE id = ?", (id,))
        if row is None:
            raise KeyNotFound
        return _key(row)


def _key(row: Sequence[Any]) -> ApiKey:
    id, digest, hint, tenant, user, role, created_at, revoked_at = row
    return ApiKey(
        id=id,
        digest=digest,
        hint=hint,
        scope=Scope(tenant=tenant, user=user),
        role=KeyRole(role),
        created_at=moment(created_at),
        revoked_at=None if revoked_at is None else moment(revoked_at),
    )
