"""API keys and logins in SQLite."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.audit import Recorded
from threadkeep.store.codec import microseconds, moment
from threadkeep.store.keyring import MOST_LOGINS, KeyRing
from threadkeep.store.sqlite.audit import add_act
from threadkeep.store.sqlite.writer import Transactions
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

T = TypeVar("T")
_KEY = ("id", "digest", "hint", "tenant", "user", "role", "created_at", "expires_at", "revoked_at")
_LOGIN = ("id", "digest", "device", "created_at", "idle_until", "ends_at")
_KEYS = f"SELECT {', '.join(f'k.{name}' for name in _KEY)} FROM api_key k"
_LOGINS = (
    f"SELECT {', '.join(f'l.{name}' for name in _LOGIN)}, {', '.join(f'k.{name}' for name in _KEY)} "
    "FROM login l JOIN api_key k ON k.id = l.key"
)


class SqliteKeyRing(KeyRing):
    """The keys in one file."""

    def __init__(self, writer: Transactions, reading: SqliteDatabase) -> None:
        self._writer = writer
        self._reading = reading

    async def secret(self) -> bytes:
        with translating_sqlite_errors(self._reading):
            return bytes(self._reading.value("SELECT value FROM secret"))

    async def _change(self, change: Callable[[], T], act: Recorded | None) -> T:
        """Change something, and put it on record in the same transaction."""

        def work() -> T:
            done = change()
            if act is not None:
                add_act(self._writer.connection, *act)
            return done

        return await self._writer.run(work)

    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        await self._change(lambda: self._add(key), act)

    def _add(self, key: ApiKey) -> None:
        db = self._writer.connection
        if db.value("SELECT 1 FROM api_key WHERE digest = ? OR id = ?", (key.digest, key.id)):
            raise AlreadyExists("There is a key with this id already.")
        fields = {**key.__dict__, "tenant": key.scope.tenant, "user": key.scope.user}
        _insert(db, "api_key", {name: fields[name] for name in _KEY})

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

    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        return await self._change(lambda: self._revoke(id, at), act)

    def _revoke(self, id: str, at: datetime) -> ApiKey:
        db = self._writer.connection
        db.execute("UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (microseconds(at), id))
        db.execute("DELETE FROM login WHERE key = ?", (id,))
        row = db.row(f"{_KEYS} WHERE k.id = ?", (id,))
        if row is None:
            raise KeyNotFound
        return _key(row)

    async def forget(self, scope: Scope) -> int:
        return await self._writer.run(lambda: self._forget(scope))

    def _forget(self, scope: Scope) -> int:
        db, whose = self._writer.connection, (scope.tenant, scope.user)
        db.execute("DELETE FROM login WHERE key IN (SELECT id FROM api_key WHERE tenant = ? AND user = ?)", whose)
        return len(db.rows("DELETE FROM api_key WHERE tenant = ? AND user = ? RETURNING 1", whose))

    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        await self._change(lambda: self._add_login(login), act)

    def _add_login(self, login: Login) -> None:
        db, begins = self._writer.connection, microseconds(login.created_at)
        db.execute("DELETE FROM login WHERE min(idle_until, ends_at) < ?", (begins,))
        db.execute(
            "DELETE FROM login WHERE key = ?1 AND id NOT IN "
            "(SELECT id FROM login WHERE key = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2)",
            (login.key.id, MOST_LOGINS - 1),
        )
        _insert(db, "login", {"key": login.key.id} | {name: getattr(login, name) for name in _LOGIN})

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

    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        await self._change(lambda: self._end_login(id), act)

    def _end_login(self, id: str) -> None:
        if self._writer.connection.row("DELETE FROM login WHERE id = ? RETURNING id", (id,)) is None:
            raise KeyNotFound("There is no such login.")

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        chosen = "(?1 IS NULL OR k.tenant = ?1) AND (?2 IS NULL OR k.user = ?2)"
        with translating_sqlite_errors(self._reading):
            rows = self._reading.rows(f"{_LOGINS} WHERE {chosen} ORDER BY l.created_at, l.id", (tenant, user))
        return tuple(_login(row) for row in rows)


def _insert(db: SqliteDatabase, table: str, fields: dict[str, Any]) -> None:
    values = tuple(microseconds(value) if isinstance(value, datetime) else value for value in fields.values())
    db.execute(f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})", values)


def _key(row: Sequence[Any]) -> ApiKey:
    fields = _fields(_KEY, row)
    return ApiKey(scope=Scope(tenant=fields.pop("tenant"), user=fields.pop("user")), **fields)


def _login(row: Sequence[Any]) -> Login:
    return Login(key=_key(row[len(_LOGIN) :]), **_fields(_LOGIN, row[: len(_LOGIN)]))


def _fields(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return the columns of a row by name, times as moments."""
    fields = dict(zip(names, row, strict=True))
    times = {name for name in names if name.endswith(("_at", "_until")) and fields[name] is not None}
    return fields | {name: moment(fields[name]) for name in times}
