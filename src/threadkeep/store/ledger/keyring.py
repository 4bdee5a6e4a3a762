"""API keys and logins for stores without a database: a few of each in a dictionary, read and changed as a whole."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Generic, TypeVar

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.audit import Recorded
from threadkeep.store.keyring import MOST_LOGINS, KeyRing

SECRET_BYTES = 32
Record = Callable[[Recorded | None], Awaitable[None]]
"""Puts an act on record, if there is one, behind the change that it tells of."""
T = TypeVar("T")
ItemT = TypeVar("ItemT", ApiKey, Login)


class Table(ABC, Generic[ItemT]):
    """Items by id, wherever they are kept."""

    @abstractmethod
    async def read(self) -> dict[str, ItemT]:
        """Return all items as they are now; they are not to be changed."""

    @abstractmethod
    async def change(self, change: Callable[[dict[str, ItemT]], T]) -> T:
        """Hold the items, let them be changed, and keep them; nothing is kept if the change raises."""


class MemoryTable(Table[ItemT]):
    """Items that live as long as the process."""

    def __init__(self) -> None:
        self._items: dict[str, ItemT] = {}

    async def read(self) -> dict[str, ItemT]:
        return self._items

    async def change(self, change: Callable[[dict[str, ItemT]], T]) -> T:
        changed = dict(self._items)
        result = change(changed)
        self._items = changed
        return result


def memory_keyring(made: bytes, record: Record) -> "LedgerKeyRing":
    async def secret() -> bytes:
        return made

    return LedgerKeyRing(MemoryTable(), MemoryTable(), secret, record)


class LedgerKeyRing(KeyRing):
    """A table of keys and one of logins. `secret` returns the secret of the store; `record` puts an act on record."""

    def __init__(
        self, keys: Table[ApiKey], logins: Table[Login], secret: Callable[[], Awaitable[bytes]], record: Record
    ) -> None:
        self._keys = keys
        self._logins = logins
        self._secret = secret
        self._record = record

    async def secret(self) -> bytes:
        return await self._secret()

    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        def put(keys: dict[str, ApiKey]) -> None:
            if key.id in keys or any(other.digest == key.digest for other in keys.values()):
                raise AlreadyExists("There is a key with this id already.")
            keys[key.id] = key

        await self._keys.change(put)
        await self._record(act)

    async def find(self, digest: bytes) -> ApiKey | None:
        return _with(digest, await self._keys.read())

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        return _in_order(key for key in (await self._keys.read()).values() if tenant in (None, key.scope.tenant))

    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        def mark(keys: dict[str, ApiKey]) -> ApiKey:
            if id not in keys:
                raise KeyNotFound
            if keys[id].revoked_at is None:
                keys[id] = keys[id].model_copy(update={"revoked_at": at})
            return keys[id]

        def forget(logins: dict[str, Login]) -> None:
            for login in [login for login in logins.values() if login.key.id == id]:
                del logins[login.id]

        revoked = await self._keys.change(mark)
        await self._logins.change(forget)
        await self._record(act)
        return revoked

    async def forget(self, scope: Scope) -> int:
        def remove(items: dict[str, ItemT], whose: Callable[[ItemT], Scope]) -> int:
            found = [item.id for item in items.values() if whose(item) == scope]
            for id in found:
                del items[id]
            return len(found)

        await self._logins.change(lambda logins: remove(logins, lambda login: login.key.scope))
        return await self._keys.change(lambda keys: remove(keys, lambda key: key.scope))

    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        def put(logins: dict[str, Login]) -> None:
            over = [each for each in logins.values() if min(each.idle_until, each.ends_at) < login.created_at]
            own = [each for each in logins.values() if each.key.id == login.key.id and each not in over]
            for each in (*over, *_in_order(own)[: max(0, len(own) + 1 - MOST_LOGINS)]):
                del logins[each.id]
            logins[login.id] = login

        await self._logins.change(put)
        await self._record(act)

    async def find_login(self, digest: bytes) -> Login | None:
        found = _with(digest, await self._logins.read())
        return None if found is None else _with_key(found, await self._keys.read())

    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        def renew(logins: dict[str, Login]) -> None:
            if (found := _with(digest, logins)) is not None:
                logins[found.id] = found.model_copy(update={"idle_until": idle_until})

        await self._logins.change(renew)

    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        def forget(logins: dict[str, Login]) -> None:
            if logins.pop(id, None) is None:
                raise KeyNotFound("There is no such login.")

        await self._logins.change(forget)
        await self._record(act)

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        keys = await self._keys.read()
        found = [_with_key(login, keys) for login in (await self._logins.read()).values()]
        return _in_order(
            login
            for login in found
            if login and tenant in (None, login.key.scope.tenant) and user in (None, login.key.scope.user)
        )


def _with(digest: bytes, items: dict[str, ItemT]) -> ItemT | None:
    return next((item for item in items.values() if item.digest == digest), None)


def _with_key(login: Login, keys: dict[str, ApiKey]) -> Login | None:
    """Return a login with its key as it is now; none without one."""
    key = keys.get(login.key.id)
    return None if key is None else login.model_copy(update={"key": key})


def _in_order(items: Iterable[ItemT]) -> tuple[ItemT, ...]:
    return tuple(sorted(items, key=lambda item: (item.created_at, item.id)))
