"""Letting people in: programs by API key, as a bearer token, and browsers by a login, which is kept in a cookie.

Either is looked up again after half a second, so that what was revoked or ended stops working within a second
everywhere. A login goes on as long as it is used, up to its end.
"""

import logging
import time
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime, timedelta

from starlette.requests import HTTPConnection
from starlette.types import Scope

from threadkeep.conversation.api_key import LOGIN_PREFIX, PREFIX, ApiKey, Login, digest_of, new_secret
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.errors import KeyNotFound, NotAuthenticated, RateLimited, StoreError
from threadkeep.server.brake import Brake
from threadkeep.server.cookies import login_cookie
from threadkeep.server.identity import Identity
from threadkeep.settings import Settings
from threadkeep.store.keyring import KeyRing

logger = logging.getLogger(__name__)

TRUSTED_SECONDS = 0.5
REMEMBERED = 10_000
LONGEST_SECRET = 200
LONGEST_DEVICE = 100


class KeyGuard:
    """Lets in who shows a good key, or the login that was made with one."""

    def __init__(self, keyring: KeyRing, settings: Settings, clock: Clock = utc_now) -> None:
        self._keyring = keyring
        self._idle = timedelta(seconds=settings.login_idle_seconds)
        self._longest = timedelta(seconds=settings.login_max_seconds)
        self._clock = clock
        self._brake = Brake()
        # What was good when it was last looked at, and when that was.
        self._good: OrderedDict[bytes, tuple[ApiKey | Login, float]] = OrderedDict()

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return whom the key or the login of a request belongs to."""
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            found = await self._shown(connection.scope, token.strip(), PREFIX)
        else:
            found = await self.login(connection)
        if found is None:
            raise NotAuthenticated
        return _identity(found)

    async def is_valid(self, identity: Identity) -> bool:
        """Whether what somebody came with is still good."""
        if identity.credential is None:
            return False
        return await self._look(identity.credential, is_login=identity.login is not None) is not None

    async def login(self, connection: HTTPConnection) -> Login | None:
        """Return the login of a browser, if it is good."""
        found = await self._shown(connection.scope, login_cookie(connection), LOGIN_PREFIX)
        return found if isinstance(found, Login) else None

    async def log_in(self, connection: HTTPConnection, key: str) -> tuple[str, timedelta]:
        """Begin a login with a key, in place of the one that the browser had; return its secret and how long it may
        last."""
        found = await self._shown(connection.scope, key, PREFIX)
        if not isinstance(found, ApiKey):
            raise NotAuthenticated("This key is not known, was revoked or has expired.")
        await self.log_out(connection)
        now, secret = self._clock(), new_secret(LOGIN_PREFIX)
        login = Login(
            id=new_id(),
            digest=digest_of(secret),
            key=found,
            device=_device(connection),
            created_at=now,
            idle_until=now + self._idle,
            ends_at=now + self._longest,
        )
        await self._keyring.add_login(login)
        return secret, self._longest

    async def log_out(self, connection: HTTPConnection) -> None:
        """End the login of a browser, if it has one."""
        with suppress(KeyNotFound, RateLimited):
            if (login := await self.login(connection)) is not None:
                await self.end(login)

    async def end(self, login: Login) -> None:
        """End a login; here at once."""
        self._good.pop(login.digest, None)
        await self._keyring.end_login(login.id)

    async def _shown(self, scope: Scope, secret: str | None, prefix: str) -> ApiKey | Login | None:
        """Return what somebody has shown, if it is good. Strange secrets are looked up only so often."""
        if secret is None or not secret.startswith(prefix) or len(secret) > LONGEST_SECRET:
            return None
        digest = digest_of(secret)
        if digest not in self._good:
            self._brake.check(scope)
        found = await self._look(digest, is_login=prefix == LOGIN_PREFIX)
        if found is None:
            self._brake.note(scope)
        return found

    async def _look(self, digest: bytes, *, is_login: bool) -> ApiKey | Login | None:
        now = self._clock()
        found, looked_at = self._good.get(digest, (None, 0.0))
        is_fresh = time.monotonic() - looked_at < TRUSTED_SECONDS
        if found is not None and is_fresh and found.is_good(now) and not self._is_due(found, now):
            return found
        found = await (self._keyring.find_login(digest) if is_login else self._keyring.find(digest))
        if found is None or not found.is_good(now):
            self._good.pop(digest, None)
            return None
        if isinstance(found, Login) and self._is_due(found, now):
            found = await self._renewed(found, now)
        self._good[digest] = (found, time.monotonic())
        self._good.move_to_end(digest)
        if len(self._good) > REMEMBERED:
            self._good.popitem(last=False)
        return found

    def _is_due(self, found: ApiKey | Login, now: datetime) -> bool:
        """Whether the use of a login is to be noted: now and then, for not every request is to be a write."""
        return isinstance(found, Login) and found.idle_until - now < self._idle / 2

    async def _renewed(self, login: Login, now: datetime) -> Login:
        renewed = login.model_copy(update={"idle_until": now + self._idle})
        try:
            await self._keyring.renew_login(login.digest, renewed.idle_until)
        except StoreError as error:
            logger.warning("a login could not be renewed: %s", error)
            return login
        return renewed


def _identity(found: ApiKey | Login) -> Identity:
    key, login = (found.key, found.id) if isinstance(found, Login) else (found, None)
    return Identity(scope=key.scope, role=key.role, credential=found.digest, login=login)


def _device(connection: HTTPConnection) -> str:
    """Return what a browser says of itself, as far as it can be shown anywhere."""
    said = connection.headers.get("user-agent", "")[:LONGEST_DEVICE]
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in said)
