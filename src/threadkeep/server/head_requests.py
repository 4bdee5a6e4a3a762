"""HEAD requests: what GET would answer, without the body. The routes know GET only, so they are asked for that.

A stream has no end that could be left out, so none is begun for HEAD: its route refuses (see `limits.room_for_stream`).
"""

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

IS_HEAD = "threadkeep.head"
"""What the scope of a request holds that was HEAD before it was made GET."""


class HeadRequests:
    """Middleware that has HEAD answered as GET and keeps the body back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; what the routes note in its scope is there afterwards as well."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        asked: Scope = {**scope, "method": "GET", IS_HEAD: True}

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        try:
            await self.app(asked, receive, send_without_body)
        finally:
            # The server below must not take it for GET: it would wait for the rest of the body.
            scope.update({**asked, "method": "HEAD"})


def refuse_head(connection: HTTPConnection) -> None:
    """For routes that answer with a stream."""
    if IS_HEAD in connection.scope:
        raise HTTPException(405, "A stream has no end, so it has no HEAD.")
