"""The contract of a key ring: where a store keeps the hashes of API keys and of the logins that were made with them.

Both are looked up before it is known whose request it is, so they are not scoped.
"""

from abc import ABC, abstractmethod
from datetime import datetime

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.conversation.scope import Scope
from threadkeep.store.audit import Recorded

MOST_LOGINS = 100
"""How many logins of one key are kept."""


class KeyRing(ABC):
    """Keeps API keys and logins. Like every write of a store, a change is durable when its verb returns. An `act` goes
    into the audit log in the same commit, and not at all if the verb raises."""

    @abstractmethod
    async def secret(self) -> bytes:
        """Return 32 random bytes, the same for all who open this store, now and later."""

    @abstractmethod
    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        """Add a key; `AlreadyExists` if there is one with this id or digest."""

    @abstractmethod
    async def find(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest, good or not."""

    @abstractmethod
    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        """Return the keys of a tenant, or of all, oldest first."""

    @abstractmethod
    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        """Mark a key as revoked, forget its logins and return it; one that was revoked before stays as it is;
        `KeyNotFound` if missing."""

    @abstractmethod
    async def forget(self, scope: Scope) -> int:
        """Remove the keys of a user, revoked ones too, and their logins; return how many keys."""

    @abstractmethod
    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        """Add a login of a key that is there. Logins that were over when this one began are forgotten, and so are the
        oldest of its key when there are more than `MOST_LOGINS`."""

    @abstractmethod
    async def find_login(self, digest: bytes) -> Login | None:
        """Return the login with this digest, good or not, with its key as it is now."""

    @abstractmethod
    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        """Let a login go on for longer; nothing happens if it is not there any more."""

    @abstractmethod
    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        """Forget a login; `KeyNotFound` if it is not there."""

    @abstractmethod
    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        """Return the logins of a user, of a tenant, or all, oldest first; those that are over may be among them."""
