"""API keys: what a program or a person shows to be let in. Only a hash of a key is ever stored."""

from enum import StrEnum
from hashlib import sha256
from secrets import token_urlsafe

from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment, Value

PREFIX = "tk_"


class KeyRole(StrEnum):
    """What the holder of a key may do: use its own conversations, or look after those of its tenant, too."""

    USER = "user"
    ADMIN = "admin"


class ApiKey(Value):
    """A key as the store knows it. `hint` is its beginning, to tell keys apart; it is not enough to get in."""

    id: Id
    digest: bytes
    hint: str
    scope: Scope
    role: KeyRole = KeyRole.USER
    created_at: Moment
    revoked_at: Moment | None = None


def new_secret() -> str:
    """Return a fresh key, to be shown once."""
    return PREFIX + token_urlsafe(32)


def digest_of(secret: str) -> bytes:
    """Return what is stored of a key. A key is random and long, so a plain hash cannot be guessed back."""
    return sha256(secret.encode()).digest()
