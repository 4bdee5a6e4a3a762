"""Limits the body of a request: its bytes and, if it is JSON, its values, each of which costs far more than its bytes.

A body that declares a larger size is refused before it is read, any other as soon as it is too large. And refuses a NUL
in the query of an address: no text that is looked for has one, and PostgreSQL takes none.
"""

import asyncio
import re
from collections.abc import Awaitable, Mapping

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.server.middleware.headers import HttpMiddleware
from threadkeep.server.problems import problem

MOST_VALUES = 50_000
"""How many values JSON may have: parsing and checking more would block other requests."""
CLOSE = {"Connection": "close"}
"""The rest of a body that is refused is never read, so the connection cannot be used again."""
NO_NUL = "The query of an address has no control characters such as NUL."
STREAMED = re.compile(r"/v1/conversations/[^/]+/turns/[0-9]+/stream")
"""The paths of bodies that may go on for ever: each of their lines is counted where it is read."""
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class BodySize(HttpMiddleware):
    """Refuses large bodies; 0 is no limit. `files` are paths that take files, as do those below them, each with a limit
    of its own: they are not parsed as a whole, so their values do not count."""

    def __init__(self, app: ASGIApp, most: int, files: Mapping[str, int]) -> None:
        super().__init__(app)
        self.most = most
        self.files = files

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_open = STREAMED.fullmatch(scope["path"]) is not None
        most = 0 if is_open else self.files.get(_top(scope["path"]), self.most)
        if b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
            return problem(400, "invalid_text", NO_NUL)(scope, receive, send)
        if 0 < most < _declared(Headers(scope=scope)):
            return _too_large(most)(scope, receive, send)
        return self.app(scope, receive, send) if is_open else self._watch(scope, receive, send, most)

    async def _watch(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        """Count what arrives. If it is too much, the application sees the client as gone; its answer is not sent."""
        arrived, has_answered, is_open = 0, False, False
        refusal: Response | None = None
        is_form = Headers(scope=scope).get("content-type", "").lower().startswith(FORMS)
        values = None if is_form or _top(scope["path"]) in self.files else ValueCount()

        async def receive_counting() -> Message:
            nonlocal arrived, refusal
            message = await receive()
            body = message.get("body", b"")
            arrived += len(body)
            if 0 < most < arrived:
                refusal = _too_large(most)
            elif values is not None and values.add(body) > MOST_VALUES:
                detail = f"The JSON of a body has at most {MOST_VALUES} values."
                refusal = problem(413, "too_many_values", detail, CLOSE, most=MOST_VALUES)
            return message if refusal is None else {"type": "http.disconnect"}

        def send_unless_refused(message: Message) -> Awaitable[None]:
            nonlocal has_answered, is_open
            if refusal is not None and not has_answered:
                return asyncio.sleep(0)
            has_answered, is_open = True, message.get("more_body", message["type"] == "http.response.start")
            return send(message)

        await self.app(scope, receive_counting, send_unless_refused)
        if refusal is not None and not has_answered:
            await refusal(scope, receive, send)
        elif refusal is not None and is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _top(path: str) -> str:
    """Return the first two steps of a path."""
    return "/".join(path.split("/", 3)[:3])


def _too_large(most: int) -> Response:
    return problem(413, "body_too_large", f"A body has at most {most} bytes.", CLOSE, most=most)


class ValueCount:
    """Counts the values of JSON that arrives in pieces, without parsing it: strings, and what stands between them."""

    def __init__(self) -> None:
        self._is_text = False
        self._escape = b""
        self.count = 0

    def add(self, piece: bytes) -> int:
        """Take a piece and return how many values there are by now, or a few more."""
        piece = (self._escape + piece).replace(rb"\\", b"")
        self._escape = piece[-1:] if piece.endswith(b"\\") else b""
        for part in piece.replace(rb"\"", b"").split(b'"'):
            if not self._is_text:
                self.count += 1 + part.count(b",") + part.count(b"[") + part.count(b"{")
            self._is_text = not self._is_text
        # The last part goes on in the next piece.
        self._is_text = not self._is_text
        return self.count


def _declared(headers: Headers) -> int:
    declared = headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0
