"""API keys and logins in PostgreSQL."""

from datetime import datetime

import asyncpg

from threadkeep.conversation.api_key import ApiKey, KeyRole, Login
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.audit import Recorded
from threadkeep.store.keyring import MOST_LOGINS, KeyRing
from threadkeep_postgres.database import Database


class PostgresKeyRing(KeyRing):
    """The keys in one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._pool = database.pool

    async def secret(self) -> bytes:
        return bytes((await self._pool.one("store_secret"))["value"])

    async def _act(self, act: Recorded | None) -> tuple[int | None, list[str] | None]:
        """Return the key of the tenant that an act is about, and its columns."""
        return (None, None) if act is None else (await self._db.tenant(act.tenant, make=True), act.row.columns)

    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        owner = (key.scope.tenant, key.scope.user, str(key.role))
        known = (key.id, key.digest, key.hint, *owner, key.created_at, key.expires_at)
        if not await self._pool.call("add_api_key", *known, *await self._act(act)):
            raise AlreadyExists("There is a key with this id already.")

    async def find(self, digest: bytes) -> ApiKey | None:
        rows = await self._pool.call("find_api_key", digest)
        return _key(rows[0]) if rows else None

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        return tuple(_key(row) for row in await self._pool.call("api_keys", tenant))

    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        rows = await self._pool.call("revoke_api_key", id, at, *await self._act(act))
        if not rows:
            raise KeyNotFound
        return _key(rows[0])

    async def forget(self, scope: Scope) -> int:
        return int((await self._pool.one("forget_api_keys", scope.tenant, scope.user))["forgotten"])

    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        times = (login.created_at, login.idle_until, login.ends_at)
        known = (login.id, login.digest, login.key.id, login.device)
        await self._pool.call("add_login", *known, *times, MOST_LOGINS, *await self._act(act))

    async def find_login(self, digest: bytes) -> Login | None:
        rows = await self._pool.call("find_login", digest)
        return _login(rows[0]) if rows else None

    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        await self._pool.call("renew_login", digest, idle_until)

    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        if not await self._pool.call("end_login", id, *await self._act(act)):
            raise KeyNotFound("There is no such login.")

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        return tuple(_login(row) for row in await self._pool.call("logins", tenant, user))


def _key(row: asyncpg.Record) -> ApiKey:
    names = ("id", "digest", "hint", "created_at", "expires_at", "revoked_at")
    scope = Scope(tenant=row["tenant"], user=row["person"])
    return ApiKey(scope=scope, role=KeyRole(row["role"]), **{name: row[name] for name in names})


def _login(row: asyncpg.Record) -> Login:
    known = {name: row[name] for name in ("device", "idle_until", "ends_at")}
    return Login(key=_key(row), id=row["login"], digest=row["token"], created_at=row["begun_at"], **known)
