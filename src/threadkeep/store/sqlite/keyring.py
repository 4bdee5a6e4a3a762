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
from threadkeep.store.sqlite.writer import RunOnDatabase
from threadkeep.store.sqlite_file import SqliteDatabase

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

    def __init__(self, run: RunOnDatabase) -> None:
        self._run = run

    async def secret(self) -> bytes:
        return await self._run(lambda db: bytes(db.value("SELECT value FROM secret")), writes=False)

    async def _change(self, change: Callable[[SqliteDatabase], T], act: Recorded | None) -> T:
        """Change something, and put it on record in the same transaction."""

        def work(db: SqliteDatabase) -> T:
            done = change(db)
            if act is not None:
                add_act(db, *act)
            return done

        return await self._run(work)

    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        fields = {**key.__dict__, "tenant": key.scope.tenant, "user": key.scope.user}

        def change(db: SqliteDatabase) -> None:
            if db.value("SELECT 1 FROM api_key WHERE digest = ? OR id = ?", (key.digest, key.id)):
                raise AlreadyExists("There is a key with this id already.")
            _insert(db, "api_key", {name: fields[name] for name in _KEY})

        await self._change(change, act)

    async def find(self, digest: bytes) -> ApiKey | None:
        row = await self._run(lambda db: db.row(f"{_KEYS} WHERE k.digest = ?", (digest,)), writes=False)
        return None if row is None else _key(row)

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        sql = f"{_KEYS} WHERE ?1 IS NULL OR k.tenant = ?1 ORDER BY k.created_at, k.id"
        return tuple(map(_key, await self._run(lambda db: db.rows(sql, (tenant,)), writes=False)))

    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        def change(db: SqliteDatabase) -> ApiKey:
            db.execute("UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (microseconds(at), id))
            db.execute("DELETE FROM login WHERE key = ?", (id,))
            if (row := db.row(f"{_KEYS} WHERE k.id = ?", (id,))) is None:
                raise KeyNotFound
            return _key(row)

        return await self._change(change, act)

    async def forget(self, scope: Scope) -> int:
        whose = (scope.tenant, scope.user)

        def change(db: SqliteDatabase) -> int:
            db.execute("DELETE FROM login WHERE key IN (SELECT id FROM api_key WHERE tenant = ? AND user = ?)", whose)
            return len(db.rows("DELETE FROM api_key WHERE tenant = ? AND user = ? RETURNING 1", whose))

        return await self._run(change)

    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        def change(db: SqliteDatabase) -> None:
            db.execute("DELETE FROM login WHERE min(idle_until, ends_at) < ?", (microseconds(login.created_at),))
            db.execute(
                "DELETE FROM login WHERE key = ?1 AND id NOT IN "
                "(SELECT id FROM login WHERE key = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2)",
                (login.key.id, MOST_LOGINS - 1),
            )
            _insert(db, "login", {"key": login.key.id} | {name: getattr(login, name) for name in _LOGIN})

        await self._change(change, act)

    async def find_login(self, digest: bytes) -> Login | None:
        row = await self._run(lambda db: db.row(f"{_LOGINS} WHERE l.digest = ?", (digest,)), writes=False)
        return None if row is None else _login(row)

    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        renewed = (microseconds(idle_until), digest)
        await self._run(lambda db: db.execute("UPDATE login SET idle_until = ? WHERE digest = ?", renewed))

    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        def change(db: SqliteDatabase) -> None:
            if db.row("DELETE FROM login WHERE id = ? RETURNING id", (id,)) is None:
                raise KeyNotFound("There is no such login.")

        await self._change(change, act)

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        chosen = "(?1 IS NULL OR k.tenant = ?1) AND (?2 IS NULL OR k.user = ?2)"
        sql = f"{_LOGINS} WHERE {chosen} ORDER BY l.created_at, l.id"
        return tuple(map(_login, await self._run(lambda db: db.rows(sql, (tenant, user)), writes=False)))


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
