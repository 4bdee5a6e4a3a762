"""Share links: a branch of a conversation, up to one entry, that whoever has the link can read without signing in.

A conversation stores the hashes of its links' tokens. A token names tenant and conversation, so that no other tenant
has to be searched, and ends with a random secret.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from datetime import datetime
from secrets import token_urlsafe
from typing import Annotated

from pydantic import Field

from threadkeep.conversation.api_key import Digest, digest_of
from threadkeep.conversation.ids import Id, check_id
from threadkeep.conversation.value import Moment, Text, Value
from threadkeep.errors import InvalidInput, ShareNotFound

MOST_SHARES = 20
"""How many links a conversation can have."""
SECRET_BYTES = 24


class Share(Value):
    """A link: what it shows ends with the entry `head`, under the title of the moment when it was made; `expires_at` is
    when it stops working by itself."""

    id: Id
    digest: Digest
    head: Annotated[int, Field(ge=1)]
    title: Text | None = None
    created_at: Moment
    expires_at: Moment | None = None

    def is_good(self, now: datetime) -> bool:
        """Whether it still works."""
        return self.expires_at is None or now < self.expires_at


def new_token(tenant: str, conversation: str) -> str:
    """Return a fresh token, to be shown once."""
    where = urlsafe_b64encode(f"{tenant}\0{conversation}".encode()).decode().rstrip("=")
    return f"{where}.{token_urlsafe(SECRET_BYTES)}"


def place_of(token: str) -> tuple[str, str]:
    """Return the tenant and the conversation that a token names; `ShareNotFound` if it is none."""
    where = token.partition(".")[0]
    try:
        tenant, conversation = urlsafe_b64decode(where + "=" * (-len(where) % 4)).decode().split("\0")
        return check_id(tenant), check_id(conversation)
    except (ValueError, InvalidInput):
        raise ShareNotFound from None


def share_of(token: str, shares: Iterable[Share], now: datetime) -> Share:
    """Return the link with this token, if it still works; else `ShareNotFound`."""
    digest = digest_of(token)
    for share in shares:
        if hmac.compare_digest(share.digest, digest) and share.is_good(now):
            return share
    raise ShareNotFound
