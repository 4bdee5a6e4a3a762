"""The `Idempotency-Key` header: one request that arrives twice is done once."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Header
from starlette.requests import HTTPConnection

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.errors import InvalidValue

Given = Annotated[str | None, Header(description="1 to 255 characters; the same key and body is done only once.")]


def _keyed(connection: HTTPConnection, idempotency_key: Given = None) -> Callable[[str, Any], IdempotencyKey | None]:
    """Return a function that makes the key for a route and a body, None if the client sent none."""
    if len(connection.headers.getlist("idempotency-key")) > 1:
        raise InvalidValue("A request has one Idempotency-Key at most.")
    given = None if idempotency_key is None else _as_text(idempotency_key)
    if given is not None and not 1 <= len(given) <= 255:
        raise InvalidValue("An Idempotency-Key has 1 to 255 characters.")

    def key(route: str, body: Any) -> IdempotencyKey | None:
        return None if given is None else IdempotencyKey.of(route, given, body)

    return key


def _as_text(header: str) -> str:
    """Return a header, which arrives decoded as Latin-1, as UTF-8 if it is that."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


Key = Annotated[Callable[[str, Any], IdempotencyKey | None], Depends(_keyed)]


def replay_headers(replayed: bool) -> dict[str, str]:
    """Return the header that says that a request was done before."""
    return {"Idempotency-Replayed": "true"} if replayed else {}
