"""Letting people in by API key: as a bearer token for programs, as a cookie for the page.

A key is looked up again after half a second, so that a revoked one stops working within a second everywhere.
"""

import time

from starlette.requests import HTTPConnection

from threadkeep.conversation.api_key import PREFIX, ApiKey, digest_of
from threadkeep.errors import NotAuthenticated
from threadkeep.server.identity import Identity
from threadkeep.store.keyring import KeyRing

COOKIE = "threadkeep_key"
TRUSTED_SECONDS = 0.5
REMEMBERED = 10_000


class KeyGuard:
    """Lets in who shows a key that is on the ring and not revoked."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring
        self._known: dict[bytes, tuple[ApiKey | None, float]] = {}

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return whom the key of a request belongs to."""
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        by_cookie = scheme.lower() != "bearer"
        identity = await self.holder(connection.cookies.get(COOKIE) if by_cookie else token.strip())
        if identity is None:
            raise NotAuthenticated
        return identity.model_copy(update={"by_cookie": by_cookie})

    async def holder(self, secret: str | None) -> Identity | None:
        """Return whom a key belongs to, if it is good."""
        if secret is None or not secret.startswith(PREFIX) or len(secret) > 200:
            return None
        digest = digest_of(secret)
        key = await self._find(digest)
        if key is None or key.revoked_at is not None:
            return None
        return Identity(scope=key.scope, role=key.role, key=digest)

    async def is_valid(self, identity: Identity) -> bool:
        """Whether the key that somebody came with is still good."""
        key = None if identity.key is None else await self._find(identity.key)
        return key is not None and key.revoked_at is None

    async def _find(self, digest: bytes) -> ApiKey | None:
        key, looked_at = self._known.get(digest, (None, -TRUSTED_SECONDS))
        if time.monotonic() - looked_at < TRUSTED_SECONDS:
            return key
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        key = await self._keyring.find(digest)
        self._known[digest] = (key, time.monotonic())
        return key
