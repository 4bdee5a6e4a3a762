"""API keys and logins in SQLite."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from threadkeep.conversation.api_key import ApiKey, KeyRole, Login
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.codec import microseconds, moment
from threadkeep.store.keyring import MOST_LOGINS, KeyRing
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite_file import Database, translating_sqlite_errors

_KEY = "k.id, k.digest, k.hint, k.tenant, k.user, k.role, k.created_at, k.expires_at, k.revoked_at"
_KEYS = f"SELECT {_KEY} FROM api_key k"
_LOGINS = (
    f"SELECT l.id, l.digest, l.device, l.created_at, l.idle_until, l.ends_at, {_KEY} "
    "FROM login l JOIN api_key k ON k.id = l.key"
)


class SqliteKeyRing(KeyRing):
    """The keys in one file."""

    def __init__(self, writer: Writer, reading: Database) -> None:
        self._writer = writer
        self._reading = reading

    async def secret(self) -> bytes:
        with translating_sqlite_errors(self._reading):
            return bytes(self._reading.value("SELECT value FROM secret"))

    async def add(self, key: ApiKey) -> None:
        await self._writer.run(lambda: self._add(key))

    def _add(self, key: ApiKey) -> None:
        db = self._writer.connection
        if db.value("SELECT 1 FROM api_key WHERE digest = ? OR id = ?", (key.digest, key.id)):
            raise AlreadyExists("There is a key with this id already.")
        owner = (key.scope.tenant, key.scope.user, key.role)
        times = (microseconds(key.created_at), _time(key.expires_at), _time(key.revoked_at))
        db.execute(
            "INSERT INTO api_key (id, digest, hint, tenant, user, role, created_at, expires_at, revoked_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key.id, key.digest, key.hint, *owner, *times),
        )

    async def find(self, digest: bytes) -> ApiKey | None:
        with translating_sqlite_errors(self._reading):
            row = self._reading.row(f"{_KEYS} WHERE k.digest = ?", (digest,))
        return None if row is None else _key(row)

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        with translating_sqlite_errors(self._reading):
            rows = self._reading.rows(
                f"{_KEYS} WHERE ?1 IS NULL OR k.tenant = ?1 ORDER BY k.created_at, k.id", (tenant,)
            )
        return tuple(_key(row) for row in rows)

    async def revoke(self, id: str, at: datetime) -> ApiKey:
        return await self._writer.run(lambda: self._revoke(id, at))

    def _revoke(self, id: str, at: datetime) -> ApiKey:
        db = self._writer.connection
        db.execute("UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (microseconds(at), id))
        db.execute("DELETE FROM login WHERE key = ?", (id,))
        row = db.row(f"{_KEYS} WHERE k.id = ?", (id,))
        if row is None:
            raise KeyNotFound
        return _key(row)

    async def add_login(self, login: Login) -> None:
        await self._writer.run(lambda: self._add_login(login))

    def _add_login(self, login: Login) -> None:
        db, begins = self._writer.connection, microseconds(login.created_at)
        db.execute("DELETE FROM login WHERE min(idle_until, ends_at) < ?", (begins,))
        db.execute(
            "DELETE FROM login WHERE key = ?1 AND id NOT IN "
            "(SELECT id FROM login WHERE key = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2)",
            (login.key.id, MOST_LOGINS - 1),
        )
        times = (begins, microseconds(login.idle_until), microseconds(login.ends_at))
        db.execute(
            "INSERT INTO login (id, digest, key, device, created_at, idle_until, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (login.id, login.digest, login.key.id, login.device, *times),
        )

    async def find_login(self, digest: bytes) -> Login | None:
        with translating_sqlite_errors(self._reading):
            row = self._reading.row(f"{_LOGINS} WHERE l.digest = ?", (digest,))
        return None if row is None else _login(row)

    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        await self._writer.run(
            lambda: self._writer.connection.execute(
                "UPDATE login SET idle_until = ? WHERE digest = ?", (microseconds(idle_until), digest)
            )
        )

    async def end_login(self, id: str) -> None:
        await self._writer.run(lambda: self._end_login(id))

    def _end_login(self, id: str) -> None:
        if self._writer.connection.row("DELETE FROM login WHERE id = ? RETURNING id", (id,)) is None:
            raise KeyNotFound("There is no such login.")

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        chosen = "(?1 IS NULL OR k.tenant = ?1) AND (?2 IS NULL OR k.user = ?2)"
        with translating_sqlite_errors(self._reading):
            rows = self._reading.rows(f"{_LOGINS} WHERE {chosen} ORDER BY l.created_at, l.id", (tenant, user))
        return tuple(_login(row) for row in rows)


def _time(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _key(row: Sequence[Any]) -> ApiKey:
    id, digest, hint, tenant, user, role, created_at, expires_at, revoked_at = row
    return ApiKey(
        id=id,
        digest=digest,
        hint=hint,
        scope=Scope(tenant=tenant, user=user),
        role=KeyRole(role),
        created_at=moment(created_at),
        expires_at=None if expires_at is None else moment(expires_at),
        revoked_at=None if revoked_at is None else moment(revoked_at),
    )


def _login(row: Sequence[Any]) -> Login:
    id, digest, device, created_at, idle_until, ends_at, *key = row
    return Login(
        id=id,
        digest=digest,
        key=_key(key),
        device=device,
        created_at=moment(created_at),
        idle_until=moment(idle_until),
        ends_at=moment(ends_at),
    )
