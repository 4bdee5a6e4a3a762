"""A request and its answer, once they are over: what access log and metrics are made of. No content, no query."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.conversation.scope import Scope as Asker
from threadkeep.server.identity import Identity
from threadkeep.server.waiting import CLIENT_LEFT

UNMATCHED = "unmatched"
FAILED = "internal_error"


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What happened. `route` is the path with the names of its parts instead of their values, `problem` the code of the
    error that was answered, if it was one; `client` is the address that it came from, as a trusted proxy tells it."""

    method: str
    path: str
    route: str
    status: int
    seconds: float
    client: str | None
    asker: Asker | None
    problem: str | None = None


Listener = Callable[[RoundTrip], None]


class RoundTrips:
    """Middleware that tells listeners about every trip at its end; a stream ends when its reader goes."""

    def __init__(self, app: ASGIApp, listeners: tuple[Listener, ...]) -> None:
        self.app = app
        self.listeners = listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and tell how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except asyncio.CancelledError:
            status = status or CLIENT_LEFT
            raise
        finally:
            trip = _trip(scope, status or 500, time.monotonic() - began)
            for tell in self.listeners:
                tell(trip)


def _trip(scope: Scope, status: int, seconds: float) -> RoundTrip:
    state = scope.get("state", {})
    identity: Identity | None = state.get("identity")
    return RoundTrip(
        method=scope["method"],
        path=scope["path"],
        route=_route(scope),
        status=status,
        seconds=seconds,
        client=scope["client"][0] if scope.get("client") else None,
        asker=None if identity is None else identity.scope,
        problem=state.get("problem") or (FAILED if status == 500 else None),
    )


def _route(scope: Scope) -> str:
    """Return the route that answered; there are only so many, whatever clients ask for."""
    if path := getattr(scope.get("route"), "path", None):
        return str(path)
    mounted = scope.get("root_path", "").removeprefix(scope.get("app_root_path", ""))
    return f"{mounted}/..." if mounted else UNMATCHED
