"""API keys and logins: what a program or a browser shows to be let in. Only a hash of either is ever stored."""

from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from secrets import token_urlsafe
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment, Value

PREFIX = "tk_"
LOGIN_PREFIX = "tl_"

Digest = Annotated[
    bytes,
    BeforeValidator(lambda digest: bytes.fromhex(digest) if isinstance(digest, str) else digest),
    PlainSerializer(bytes.hex, when_used="json"),
]
"""The hash of a secret; in JSON it is written in hexadecimal digits."""


class KeyRole(StrEnum):
    """What the holder of a key may do: use its own conversations, look after those of its tenant, too, or act for the
    users of its tenant, one in each request."""

    USER = "user"
    ADMIN = "admin"
    SERVICE = "service"


class ApiKey(Value):
    """A key as the store knows it. `hint` is its beginning, to tell keys apart; it is not enough to get in."""

    id: Id
    digest: Digest
    hint: str
    scope: Scope
    role: KeyRole = KeyRole.USER
    created_at: Moment
    expires_at: Moment | None = None
    revoked_at: Moment | None = None

    def is_good(self, now: datetime) -> bool:
        """Whether it lets its holder in."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Login(Value):
    """A browser that signed in with a key. The login ends at `idle_until`, which moves with each use, at the latest at
    `ends_at`, and with its `key`, whose present value this holds. `device` is the browser's `User-Agent`."""

    id: Id
    digest: Digest
    key: ApiKey
    device: str
    created_at: Moment
    idle_until: Moment
    ends_at: Moment

    def is_good(self, now: datetime) -> bool:
        """Whether it lets the browser in."""
        return now < self.idle_until and now < self.ends_at and self.key.is_good(now)


def new_secret(prefix: str = PREFIX) -> str:
    """Return a new random API key, or with `LOGIN_PREFIX` a login secret. It is shown once and never stored."""
    return prefix + token_urlsafe(32)


def digest_of(secret: str) -> bytes:
    """Return the hash that is stored. A plain one is enough: secrets are random and too long to be guessed."""
    return sha256(secret.encode()).digest()
