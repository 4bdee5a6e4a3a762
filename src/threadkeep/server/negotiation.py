"""What a client says about the answer it wants: `Accept`, `Accept-Encoding`, `Prefer` and HEAD.

HEAD gets what GET would answer, without the body: the routes know GET only. A stream has no end that could be left out,
so its route refuses HEAD.
"""

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
    welcome = _weights(accept)
    return welcome.get(STREAM, 0.0) > 0 and welcome[STREAM] >= welcome.get(JSON, 0.0)


def wants_lines(accept: str) -> bool:
    """Whether `Accept` names JSON Lines with a q-value above 0 and no lower than that of JSON."""
    welcome = _weights(accept)
    return welcome.get(LINES, 0.0) > 0 and welcome[LINES] >= welcome.get(JSON, 0.0)


def wants_no_wait(prefer: str) -> bool:
    """Whether an answer is wanted before the work is done."""
    return any(wish.partition(";")[0].strip().lower() == "respond-async" for wish in prefer.split(","))


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an answer may be packed: only where that is named and not refused."""
    return _weights(accept_encoding).get("gzip", 0.0) > 0


def _weights(header: str) -> dict[str, float]:
    return dict(map(_weighed, header.split(",")))


def _weighed(part: str) -> tuple[str, float]:
    """Return what is named and how welcome it is; a weight that is no number counts as none given."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [value for key, _, value in (parameter.partition("=") for parameter in parameters) if key == "q"]
    try:
        return name, float(weights[0]) if weights else 1.0
    except ValueError:
        return name, 1.0


IS_HEAD = "threadkeep.head"
"""What the scope of a request holds that was HEAD before it was made GET."""


class HeadRequests(HttpMiddleware):
    """Has HEAD answered as GET and keeps the body back."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        asked: Scope = {**scope, "method": "GET", IS_HEAD: True}

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        try:
            await self.app(asked, receive, send_without_body)
        finally:
            # What the routes noted stays; but the server must not take it for GET, and wait for the rest of the body.
            scope.update({**asked, "method": "HEAD"})


def refuse_head(connection: HTTPConnection) -> None:
    """For routes that answer with a stream."""
    if IS_HEAD in connection.scope:
        raise HTTPException(405, "A stream has no end, so it has no HEAD.")
