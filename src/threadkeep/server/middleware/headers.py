"""The headers of every answer: the id of its request, and security headers that restrict what a browser runs.

A client may send its own id in `X-Request-Id`; one that could do harm in a log is replaced, not refused. The policy
allows same-origin files and nothing inline. Answers are not cached unless their route says so: most are somebody's
conversations.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.conversation.caller import CALLER, Caller
from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.ids import new_id
from threadkeep.store.values import Outage

REQUEST_ID = "X-Request-Id"
DEGRADED = "Threadkeep-Degraded"
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self'; font-src 'self'; frame-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
ONLY_TLS = "max-age=31536000"
"""For browsers that came over TLS: to use nothing else for a year. Other names of the domain are not ours to bind."""
_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")
_ADDRESS = re.compile(r"[ -~]{1,100}")
# Never reset: every request runs in a task of its own, and a failed one is answered at the very end of it.
_current: ContextVar[str | None] = ContextVar("request_id", default=None)


def current_request_id() -> str | None:
    """Return the id of the request that is being answered, or that began the running turn; None elsewhere."""
    return _current.get()


def _address(scope: Scope) -> str:
    """Return where a request came from, as a trusted proxy tells it; a socket in the file system has no address."""
    host = str(scope["client"][0] or "") if scope.get("client") else ""
    return host if _ADDRESS.fullmatch(host) else ""


class HttpMiddleware(ABC):
    """ASGI middleware for HTTP requests only."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # Nothing is awaited here, so that every step of an answer passes through one frame less.
        return (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, or answer it."""


class AnswerHeaders(HttpMiddleware):
    """Gives every request an id, and its answer the headers; one that a route has set itself stays. During an outage of
    the database every answer says since when that is: what is read may be incomplete."""

    def __init__(self, app: ASGIApp, outage: Callable[[], Outage | None]) -> None:
        super().__init__(app)
        self._outage = outage

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        brought = Headers(scope=scope).getlist(REQUEST_ID)
        id = brought[0] if len(brought) == 1 and _SANE.fullmatch(brought[0]) else new_id()
        _current.set(id)
        CALLER.set(Caller("anonymous", _address(scope), id))

        def send_with_headers(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", ONLY_TLS)
                if (outage := self._outage()) is not None:
                    headers[DEGRADED] = f"since={moment_text(outage.since.replace(microsecond=0))}"
            return send(message)

        await self.app(scope, receive, send_with_headers)


_ROOT_PATH = "threadkeep.root_path"


class RootPath(HttpMiddleware):
    """Lets a server be a part of a host, such as `https://example.org/threads/`, or of another application, mounted
    under a path of it; the application sees no prefix.

    The prefix is taken off the path before anything else sees it, and put on again where an answer names an address. A
    proxy may take it off itself, or leave it on.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        super().__init__(app)
        self.root_path = root_path

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        has_prefix = self.root_path or scope.get("root_path")
        return super().__call__(scope, receive, send) if has_prefix else self.app(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        mounted: str = scope.get("root_path", "")
        for prefix in (mounted, self.root_path):
            if path == prefix or path.startswith(f"{prefix}/"):
                path = path.removeprefix(prefix) or "/"
        whole = f"{mounted}{self.root_path}"

        def send_with_prefix(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if (location := headers.get("Location", "")).startswith("/"):
                    headers["Location"] = f"{whole}{location}"
            return send(message)

        # `root_path` of the ASGI standard would be taken off once more, from `/v1` served under `/v1` for example.
        inside = {**scope, "path": path, "raw_path": path.encode(), "root_path": "", _ROOT_PATH: whole}
        await self.app(inside, receive, send_with_prefix)


def root_path_of(connection: HTTPConnection) -> str:
    """Return the prefix that a browser sees before every path of ours; empty at the root of a host."""
    return str(connection.scope.get(_ROOT_PATH, ""))
