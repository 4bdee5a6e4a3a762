"""API keys in PostgreSQL."""

from datetime import datetime

import asyncpg

from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.keyring import KeyRing
from threadkeep.store.postgres.pool import Pool


class PostgresKeyRing(KeyRing):
    """The keys in one database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, key: ApiKey) -> None:
        owner = (key.scope.tenant, key.scope.user, str(key.role))
        row = await self._pool.one("add_api_key", key.id, key.digest, key.hint, *owner, key.created_at)
        if not row[0]:
            raise AlreadyExists("There is a key with this id already.")

    async def find(self, digest: bytes) -> ApiKey | None:
        rows = await self._pool.call("find_api_key", digest)
        return _key(rows[0]) if rows else None

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        return tuple(_key(row) for row in await self._pool.call("api_keys", tenant))

    async def revoke(self, id: str, at: datetime) -> ApiKey:
        rows = await self._pool.call("revoke_api_key", id, at)
        if not rows:
            raise KeyNotFound
        return _key(rows[0])


def _key(row: asyncpg.Record) -> ApiKey:
    return ApiKey(
        id=row["id"],
        digest=row["digest"],
        hint=row["hint"],
        scope=Scope(tenant=row["tenant"], user=row["person"]),
        role=KeyRole(row["role"]),
        created_at=row["created_at"],
        revoked_at=row["revoked_at"],
    )
