"""A request's id: in its answer, in its errors, and in every log line of what it set going.

A client may bring its own in `X-Request-Id`; one that could do harm in a log is replaced, not refused.
"""

import re
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.conversation.ids import new_id

HEADER = "X-Request-Id"
RAW_SEND = "threadkeep.send"
"""Where a request's scope holds the way out past all that stands around the application: this stands outermost."""
_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")
# Never reset: every request runs in a task of its own, and what answers a failed one does so at the very end of it.
_current: ContextVar[str | None] = ContextVar("request_id", default=None)


def current_request_id() -> str | None:
    """Return the id of the request that is being answered, or that began the turn that runs; None elsewhere."""
    return _current.get()


class RequestIds:
    """Middleware that gives every request an id, and tells the client."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        id = _brought(Headers(scope=scope)) or new_id()
        _current.set(id)
        scope[RAW_SEND] = send

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = id
            await send(message)

        await self.app(scope, receive, send_with_id)


def _brought(headers: Headers) -> str | None:
    brought = headers.getlist(HEADER)
    return brought[0] if len(brought) == 1 and _SANE.fullmatch(brought[0]) else None
