"""The contract of a key ring: where a store keeps the hashes of API keys, which are no content of conversations."""

from abc import ABC, abstractmethod
from datetime import datetime

from threadkeep.conversation.api_key import ApiKey


class KeyRing(ABC):
    """Keeps API keys. Like every write of a store, a change is durable when its verb returns."""

    @abstractmethod
    async def add(self, key: ApiKey) -> None:
        """Add a key; `AlreadyExists` if there is one with this id or digest."""

    @abstractmethod
    async def find(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest, revoked or not."""

    @abstractmethod
    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        """Return the keys of a tenant, or of all, oldest first."""

    @abstractmethod
    async def revoke(self, id: str, at: datetime) -> ApiKey:
        """Mark a key as revoked and return it; one that was revoked before stays as it is; `KeyNotFound` if missing."""
