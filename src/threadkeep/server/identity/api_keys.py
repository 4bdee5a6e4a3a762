"""Letting people in: programs by API key, as a bearer token, and browsers by a login, which is kept in a cookie.

Either is looked up again after half a second, so that a revoked key or an ended login stops working within a second
everywhere. A login lasts as long as it is used, up to its end.
"""

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from threadkeep.conversation.api_key import LOGIN_PREFIX, PREFIX, ApiKey, KeyRole, Login, digest_of, new_secret
from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.errors import KeyNotFound, NotAllowed, NotAuthenticated, RateLimited, StoreError
from threadkeep.server.identity.guards import Identity
from threadkeep.server.identity.refusals import Refusals
from threadkeep.server.middleware.headers import root_path_of
from threadkeep.settings import Settings
from threadkeep.store.audit import login_act
from threadkeep.store.keyring import KeyRing

logger = logging.getLogger(__name__)

TRUSTED_SECONDS = 0.5
REMEMBERED = 10_000
LONGEST_SECRET = 200
LONGEST_DEVICE = 100


class ApiKeyGuard:
    """Identifies callers by an API key, or by the login that was made with one."""

    def __init__(self, keyring: KeyRing, settings: Settings, refusals: Refusals, clock: Clock = utc_now) -> None:
        self._keyring = keyring
        self._refusals = refusals
        self._audit = refusals.audit
        self._idle = timedelta(seconds=settings.login_idle_seconds)
        self._longest = timedelta(seconds=settings.login_max_seconds)
        self._clock = clock
        self._wrong_keys = WrongKeyLimiter()
        # Credentials that were good when they were last looked up, and when that was.
        self._good: OrderedDict[bytes, tuple[ApiKey | Login, float]] = OrderedDict()
        self._ended = 0

    async def identify(self, connection: HTTPConnection) -> Identity:
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            found = await self._shown(connection.scope, token.strip(), PREFIX)
        else:
            found = await self.login(connection)
        if found is None:
            raise NotAuthenticated
        return _identity(found)

    async def is_valid(self, identity: Identity) -> bool:
        if identity.credential is None:
            return False
        return await self._look(identity.credential, is_login=identity.login is not None) is not None

    async def login(self, connection: HTTPConnection) -> Login | None:
        found = await self._shown(connection.scope, login_cookie(connection), LOGIN_PREFIX)
        return found if isinstance(found, Login) else None

    async def log_in(self, connection: HTTPConnection, key: str) -> tuple[str, Login]:
        """Begin a login with a key, in place of the one that the browser had; return its secret and the login."""
        found = await self._shown(connection.scope, key, PREFIX)
        if not isinstance(found, ApiKey):
            raise NotAuthenticated("This key is not known, was revoked or has expired.")
        return await self.begin(connection, found)

    async def begin(self, connection: HTTPConnection, found: ApiKey) -> tuple[str, Login]:
        """Begin a login with a key that is known; return its secret and the login."""
        if found.role is KeyRole.SERVICE:
            raise NotAllowed("A key with the role service is for programs.")
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
        CALLER.set(replace(CALLER.get(), actor=f"user:{found.scope.user}"))
        await self._keyring.add_login(login, self._audit.recorded(*login_act(login, "login.began")))
        return secret, login

    async def log_out(self, connection: HTTPConnection) -> None:
        with suppress(KeyNotFound, RateLimited):
            if (login := await self.login(connection)) is not None:
                CALLER.set(replace(CALLER.get(), actor=f"user:{login.key.scope.user}"))
                await self.end(login)

    async def end(self, login: Login) -> None:
        """End a login; here at once."""
        await self._keyring.end_login(login.id, self._audit.recorded(*login_act(login, "login.ended")))
        self._ended += 1
        self._good.pop(login.digest, None)

    async def _shown(self, scope: Scope, secret: str | None, prefix: str) -> ApiKey | Login | None:
        """Return the key or login of a secret, if it is good. Lookups of unknown secrets are limited."""
        if secret is None or not secret.startswith(prefix) or len(secret) > LONGEST_SECRET:
            return None
        digest = digest_of(secret)
        if digest not in self._good:
            self._wrong_keys.check(scope)
        found = await self._look(digest, is_login=prefix == LOGIN_PREFIX)
        if found is None:
            self._wrong_keys.note(scope)
            known = await (self._keyring.find_login(digest) if prefix == LOGIN_PREFIX else self._keyring.find(digest))
            await self._refusals.refuse(_address(scope), known)
        return found

    async def _look(self, digest: bytes, *, is_login: bool) -> ApiKey | Login | None:
        now = self._clock()
        found, looked_at = self._good.get(digest, (None, 0.0))
        is_fresh = time.monotonic() - looked_at < TRUSTED_SECONDS
        if found is not None and is_fresh and found.is_good(now) and not self._is_due(found, now):
            return found
        ended = self._ended
        found = await (self._keyring.find_login(digest) if is_login else self._keyring.find(digest))
        if found is None or not found.is_good(now):
            self._good.pop(digest, None)
            return None
        if isinstance(found, Login) and self._is_due(found, now):
            found = await self._renewed(found, now)
        if ended != self._ended:
            # A login that was ended during the lookup is good for this request, but must not be cached.
            return found
        self._good[digest] = (found, time.monotonic())
        self._good.move_to_end(digest)
        if len(self._good) > REMEMBERED:
            self._good.popitem(last=False)
        return found

    def _is_due(self, found: ApiKey | Login, now: datetime) -> bool:
        """Whether to store that a login was used: only now and then, so that not every request is a write."""
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
    """Return the browser's `User-Agent`, shortened, in printable ASCII."""
    agent = connection.headers.get("user-agent", "")[:LONGEST_DEVICE]
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in agent)


AT_ONCE = 100
PER_SECOND = 2.0
"""How many wrong keys an address may show at once, as a browser with many old tabs does, and how many more per
second."""
MOST_ADDRESSES = 10_000


class WrongKeyLimiter:
    """Limits how many wrong keys an address may show.

    A key is too long to be guessed: this only keeps strangers from querying the store without end.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, scope: Scope) -> None:
        """Raise `RateLimited` if the address of a request has shown too many wrong keys."""
        if (too_many := self._count(_address(scope)) - AT_ONCE + 1) > 0:
            wait = math.ceil(too_many / PER_SECOND)
            raise RateLimited("Too many wrong keys came from this address.", retry_after=wait)

    def note(self, scope: Scope) -> None:
        address = _address(scope)
        self._wrong[address] = (self._count(address) + 1, self._clock())
        self._wrong.move_to_end(address)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def _count(self, address: str) -> float:
        count, at = self._wrong.get(address, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * PER_SECOND)


def _address(scope: Scope) -> str:
    """Return whom to count for: an address, or the network that one customer of a provider has in IPv6."""
    host = scope["client"][0] if scope.get("client") else ""
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return address.exploded[:19]
    return str(address)


COOKIE = "threadkeep"
ENCRYPTED = "__Host-"
"""With this prefix, browsers let no other host set the cookie. It needs TLS."""


def set_login_cookie(connection: HTTPConnection, response: Response, secret: str, seconds: float) -> None:
    """Set the cookie of a login, for this host alone and unreachable for scripts and other sites; 0 seconds delete
    it."""
    is_encrypted = _is_encrypted(connection)
    name = f"{ENCRYPTED if is_encrypted else ''}{_cookie_name(connection)}"
    response.set_cookie(
        name, secret, max_age=int(seconds), httponly=True, samesite="strict", secure=is_encrypted, path="/"
    )


def login_cookie(connection: HTTPConnection) -> str | None:
    """Return the login's secret from the cookie, if there is one."""
    name = _cookie_name(connection)
    if (found := connection.cookies.get(f"{ENCRYPTED}{name}")) is not None or _is_encrypted(connection):
        return found
    return connection.cookies.get(name)


def _cookie_name(connection: HTTPConnection) -> str:
    """Return a name with port and path: browsers send the cookies of a host to all servers on it."""
    host, colon, port = connection.headers.get("host", "").rpartition(":")
    has_port = colon and port.isdecimal() and port.isascii() and not host.endswith(":")
    return f"{COOKIE}{f'-{port}' if has_port else ''}{root_path_of(connection).replace('/', '-')}"


def _is_encrypted(connection: HTTPConnection) -> bool:
    """Whether the page came over TLS; behind a proxy that ends it and does not tell, only the page's origin does."""
    return connection.scope["scheme"] == "https" or connection.headers.get("origin", "").startswith("https://")
