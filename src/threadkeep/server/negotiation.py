"""What a client says about the answer it wants: `Accept`, `Accept-Encoding`, `Prefer` and HEAD.

HEAD gets the answer of GET without the body: the routes have GET only. An event stream never ends, so its routes refuse
HEAD.
"""

from collections.abc import Awaitable

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from threadkeep.server.middleware.headers import HttpMiddleware

STREAM = "text/event-stream"
JSON = "application/json"
LINES = "application/jsonl"


def wants_stream(accept: str) -> bool:
    """Whether `Accept` names `text/event-stream` with a q-value above 0 and no lower than that of JSON.

    A wildcard stands for JSON, so that a client that names nothing gets one answer and no stream.
    """
    return _prefers(accept, STREAM)


def wants_lines(accept: str) -> bool:
    """Whether `Accept` names JSON Lines with a q-value above 0 and no lower than that of JSON."""
    return _prefers(accept, LINES)


def _prefers(accept: str, media_type: str) -> bool:
    weights = _weights(accept)
    return weights.get(media_type, 0.0) > 0 and weights[media_type] >= weights.get(JSON, 0.0)


def wants_no_wait(prefer: str) -> bool:
    """Whether an answer is wanted before the work is done."""
    return any(wish.partition(";")[0].strip().lower() == "respond-async" for wish in prefer.split(","))


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an answer may be compressed: only if `gzip` is named and not refused."""
    return _weights(accept_encoding).get("gzip", 0.0) > 0


def _weights(header: str) -> dict[str, float]:
    return dict(map(_weighed, header.split(",")))


def _weighed(part: str) -> tuple[str, float]:
    """Return the name and its q-value; one that is no number counts as 1."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [value for key, _, value in (parameter.partition("=") for parameter in parameters) if key == "q"]
    try:
        return name, float(weights[0]) if weights else 1.0
    except ValueError:
        return name, 1.0


IS_HEAD = "threadkeep.head"
"""The mark in the scope of a HEAD request that is handled as GET."""


class HeadRequests(HttpMiddleware):
    """Answers HEAD as GET, without the body."""

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self._without_body if scope["method"] == "HEAD" else self.app)(scope, receive, send)

    async def _without_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked: Scope = {**scope, "method": "GET", IS_HEAD: True}

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        try:
            await self.app(asked, receive, send_without_body)
        finally:
            # The routes' notes in the scope are kept, but the server must see HEAD, or it would wait for the body.
            scope.update({**asked, "method": "HEAD"})


def refuse_head(connection: HTTPConnection) -> None:
    """For routes that answer with a stream."""
    if IS_HEAD in connection.scope:
        raise HTTPException(405, "A stream has no end, so it has no HEAD.")
