"""Who may come in during an outage: those whose key or login was good when the database last answered."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.conversation.scope import Scope
from threadkeep.store.audit import Recorded
from threadkeep.store.keyring import KeyRing
from threadkeep.store.spool.outage import OUTAGES

T = TypeVar("T")
REMEMBERED = 10_000


class Asking(Protocol):
    """Asks the database something, or says at once that it is away."""

    async def __call__(self, call: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return the answer."""


class RememberingKeyRing(KeyRing):
    """Remembers what was found, and answers with it while the database is away. What is revoked meanwhile stops
    working when it is back."""

    def __init__(self, inside: KeyRing, ask: Asking) -> None:
        self._inside = inside
        self._ask = ask
        self._found: OrderedDict[tuple[str, bytes], Any] = OrderedDict()

    async def _remembered(self, kind: str, digest: bytes, call: Callable[[], Awaitable[T]]) -> T:
        try:
            found = await self._ask(call)
        except OUTAGES:
            if (kind, digest) not in self._found:
                raise
            known: T = self._found[kind, digest]
            return known
        self._found[kind, digest] = found
        self._found.move_to_end((kind, digest))
        if found is None:
            del self._found[kind, digest]
        elif len(self._found) > REMEMBERED:
            self._found.popitem(last=False)
        return found

    async def secret(self) -> bytes:
        return await self._remembered("secret", b"", self._inside.secret)

    async def find(self, digest: bytes) -> ApiKey | None:
        return await self._remembered("key", digest, lambda: self._inside.find(digest))

    async def find_login(self, digest: bytes) -> Login | None:
        return await self._remembered("login", digest, lambda: self._inside.find_login(digest))

    async def add(self, key: ApiKey, act: Recorded | None = None) -> None:
        await self._ask(self._inside.add, key, act)

    async def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        return await self._ask(self._inside.all, tenant)

    async def revoke(self, id: str, at: datetime, act: Recorded | None = None) -> ApiKey:
        revoked = await self._ask(self._inside.revoke, id, at, act)
        self._found.clear()
        return revoked

    async def forget(self, scope: Scope) -> int:
        forgotten = await self._ask(self._inside.forget, scope)
        self._found.clear()
        return forgotten

    async def add_login(self, login: Login, act: Recorded | None = None) -> None:
        await self._ask(self._inside.add_login, login, act)

    async def renew_login(self, digest: bytes, idle_until: datetime) -> None:
        await self._ask(self._inside.renew_login, digest, idle_until)

    async def end_login(self, id: str, act: Recorded | None = None) -> None:
        await self._ask(self._inside.end_login, id, act)
        self._found.clear()

    async def logins(self, tenant: str | None = None, user: str | None = None) -> tuple[Login, ...]:
        return await self._ask(self._inside.logins, tenant, user)
