"""How large the body of a request may be. A larger one is refused before it is read, or as soon as it is too large."""

from contextlib import suppress

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.server.problems import problem


class BodySize:
    """Middleware that refuses large bodies; 0 is no limit."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or not self.most:
            await self.app(scope, receive, send)
        elif _declared(Headers(scope=scope)) > self.most:
            await self._refusal()(scope, receive, send)
        else:
            await self._watch(scope, receive, send)

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what arrives. The application is left with a broken body, and its answer to that is not sent."""
        arrived, has_answered = 0, False

        async def receive_counting() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > self.most:
                raise _TooLargeError
            return message

        async def send_unless_refused(message: Message) -> None:
            nonlocal has_answered
            if arrived <= self.most or has_answered:
                has_answered = True
                await send(message)

        with suppress(_TooLargeError):
            await self.app(scope, receive_counting, send_unless_refused)
        if arrived > self.most and not has_answered:
            await self._refusal()(scope, receive, send)

    def _refusal(self) -> Response:
        # The rest of the body is never read, so the connection cannot be used again.
        return problem(
            413, "body_too_large", f"A body has at most {self.most} bytes.", {"Connection": "close"}, most=self.most
        )


class _TooLargeError(Exception):
    """The body is larger than it may be."""


def _declared(headers: Headers) -> int:
    declared = headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0
