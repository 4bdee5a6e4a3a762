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
    """What the holder of a key may do: use its own conversations, or look after those of its tenant, too."""

    USER = "user"
    ADMIN = "admin"


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
    """A browser that was let in with a key, for a while: until nobody has used it for long, and never beyond its end.

    `key` is the key as it is now: a login is worth nothing without it. `device` is what the browser says of itself.
    """

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
    """Return a fresh key, to be shown once, or what a fresh login is known by."""
    return prefix + token_urlsafe(32)


def digest_of(secret: str) -> bytes:
    """Return what is stored of a secret. It is random and long, so a plain hash cannot be guessed back."""
    return sha256(secret.encode()).digest()
