"""The `Idempotency-Key` header: one request that arrives twice is done once."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Header

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.errors import InvalidValue

Given = Annotated[str | None, Header(description="1 to 255 characters; the same key and body is done only once.")]


def _keyed(idempotency_key: Given = None) -> Callable[[str, Any], IdempotencyKey | None]:
    """Return what makes a key for a route and a body; it makes none where the client sent none."""
    if idempotency_key is not None and not 1 <= len(idempotency_key) <= 255:
        raise InvalidValue("An Idempotency-Key has 1 to 255 characters.")

    def key(route: str, body: Any) -> IdempotencyKey | None:
        return None if idempotency_key is None else IdempotencyKey.of(route, idempotency_key, body)

    return key


Key = Annotated[Callable[[str, Any], IdempotencyKey | None], Depends(_keyed)]


def replay_headers(replayed: bool) -> dict[str, str]:
    """Return the header that tells a client that its request was done before."""
    return {"Idempotency-Replayed": "true"} if replayed else {}
