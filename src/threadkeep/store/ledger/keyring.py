"""API keys for stores without a database: a few keys in one dictionary, read and changed as a whole."""

from abc import abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from threadkeep.conversation.api_key import ApiKey
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.keyring import KeyRing

T = TypeVar("T")
Keys = dict[str, ApiKey]


class LedgerKeyRing(KeyRing):
    """Keys by id. Where they are kept is what `_read` and `_change` know."""

    @abstractmethod
    async def _read(self) -> Keys:
        """Return all keys as they are now."""

    @abstractmethod
    async def _change(self, change: Callable[[Keys], T]) -> T:
        """Hold the keys, let them be changed, and keep them; nothing is kept if the change raises."""

    async def add(self, key: ApiKey) -> None:
        def put(keys: Keys) -> None:
            if key.id in keys or any(other.digest == key.digest for other in keys.values()):
                raise AlreadyExists("There is a key with this id already.")
            keys[key.id] = key

        await self._change(put)

    async def find(self, digest: bytes) -> ApiKey | None:
        return next((key for key in (await self._read()).values() if key.digest == digest), None)

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        found = [key for key in (await self._read()).values() if tenant in (None, key.scope.tenant)]
        return tuple(sorted(found, key=lambda key: (key.created_at, key.id)))

    async def revoke(self, id: str, at: datetime) -> ApiKey:
        def mark(keys: Keys) -> ApiKey:
            if id not in keys:
                raise KeyNotFound
            if keys[id].revoked_at is None:
                keys[id] = keys[id].model_copy(update={"revoked_at": at})
            return keys[id]

        return await self._change(mark)


class MemoryKeyRing(LedgerKeyRing):
    """Keys that live as long as the process."""

    def __init__(self) -> None:
        self._keys: Keys = {}

    async def _read(self) -> Keys:
        return self._keys

    async def _change(self, change: Callable[[Keys], T]) -> T:
        changed = dict(self._keys)
        result = change(changed)
        self._keys = changed
        return result
