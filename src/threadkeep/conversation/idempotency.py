"""Idempotency keys: a client's promise that two requests are one."""

import json
from hashlib import blake2b
from typing import Any, Self

from pydantic import Field

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Text, Value


class IdempotencyKey(Value):
    """A client's key for one route, with a digest of the body that it came with."""

    route: Text = Field(min_length=1, max_length=1000)
    key: Text = Field(min_length=1, max_length=255)
    digest: bytes = Field(min_length=16, max_length=16)

    @classmethod
    def of(cls, route: str, key: str, body: Any) -> Self:
        """Return the key for a body of plain JSON; spaces and the order of object keys do not matter."""
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return cls(route=route, key=key, digest=blake2b(canonical.encode(), digest_size=16).digest())

    def name(self, scope: Scope) -> bytes:
        """Return 16 bytes that stand for this key in its tenant: user, route and key, whatever their length."""
        text = json.dumps([scope.user, self.route, self.key])
        return blake2b(text.encode(), digest_size=16).digest()
