"""The requests that are being answered, how they end when the server stops, and what is recorded of each at its end.

An event stream gets a last comment and a clean end, after which browsers come back by themselves with the cursor of
what they saw last. A request that still waits for its answer is told to come again. All else is short and finishes.
"""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.background import supervised
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope as Asker
from threadkeep.errors import Stopping, StoreError
from threadkeep.server.identity.guards import IDENTITY, Guard, Identity
from threadkeep.server.middleware.headers import HttpMiddleware
from threadkeep.server.problems import CLIENT_LEFT, problem_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
GOODBYE = b"retry: 1000\n: connect again\n\n"
REVOKED = (
    b'event: error\ndata: {"code":"not_authenticated","detail":"The key or the login has ended.","type":"error"}\n\n'
)
QUIET_SECONDS = 0.2
"""How long streams must be silent before they are ended, so that what was just stored is still sent."""
MOST_SECONDS = 2.0
WATCH_SECONDS = 0.25
"""How often the credentials of open streams are checked."""
UNMATCHED = "unmatched"
FAILED = "internal_error"


class OpenRequest:
    """One request that is being answered."""

    def __init__(self, task: asyncio.Task[object] | None, scope: Scope) -> None:
        self._task = task
        self.scope = scope
        self.is_answered = False
        self.is_stream = self.is_lines = False
        self.is_over = False
        self.last_words = GOODBYE
        self.told_at = time.monotonic()

    def note(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_answered = True
            kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
            self.is_lines = any(kind.startswith(b"application/x-ndjson") for kind in kinds)
            self.is_stream = self.is_lines or any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif not message.get("more_body", False):
            self.is_stream = False
        self.told_at = time.monotonic()

    @property
    def stays(self) -> bool:
        """Whether it may take long: an open stream, or an answer that has not begun."""
        return self.is_stream or not self.is_answered

    def end(self, last_words: bytes = GOODBYE) -> None:
        """End it, unless it is about to end by itself; a stream gets a last comment."""
        if self._task is not None and self.stays:
            self.is_over = True
            self.last_words = last_words
            self._task.cancel()


class OpenRequests:
    """All open requests of a server."""

    def __init__(self) -> None:
        self._requests: set[OpenRequest] = set()
        self._watching: asyncio.Task[None] | None = None
        self._looking: dict[Identity, asyncio.Task[None]] = {}
        self.is_over = False

    @property
    def streams(self) -> int:
        return sum(request.is_stream for request in self._requests)

    def begin(self, scope: Scope) -> OpenRequest:
        request = OpenRequest(asyncio.current_task(), scope)
        self._requests.add(request)
        return request

    def finish(self, request: OpenRequest) -> None:
        self._requests.discard(request)

    def watch(self, guard: Guard) -> None:
        """End streams whose credentials are no longer valid, as long as there are streams: the lifespan of an
        application that is mounted in another one is not run."""
        if self._watching is None or self._watching.done():
            work = supervised("ending the streams of revoked keys", lambda: self._watch(guard))
            self._watching = asyncio.create_task(work)

    async def _watch(self, guard: Guard) -> None:
        while self.streams:
            await asyncio.sleep(WATCH_SECONDS)
            for identity, streams in self._streams_by_identity().items():
                if identity.has_expired(utc_now()):
                    _end(streams, REVOKED)
                elif identity not in self._looking:
                    self._looking[identity] = asyncio.create_task(self._look(guard, identity, streams))

    async def _look(self, guard: Guard, identity: Identity, streams: list[OpenRequest]) -> None:
        """Send somebody away who may no longer listen. If the store does not answer, they may: it is asked again.
        Where a guard fails, they connect again and are asked who they are."""
        try:
            if not await guard.is_valid(identity):
                _end(streams, REVOKED)
        except StoreError as error:
            logger.warning("it cannot be looked who may still listen: %s", error)
        except Exception:
            logger.exception("a guard cannot say whether somebody may still listen, so they have to connect again")
            _end(streams, GOODBYE)
        finally:
            del self._looking[identity]

    def _streams_by_identity(self) -> dict[Identity, list[OpenRequest]]:
        """Return the open streams by who listens: each is looked up once, however many streams it has, and what is
        found holds for nobody else."""
        found: dict[Identity, list[OpenRequest]] = defaultdict(list)
        for request in self._requests:
            if request.is_stream and (identity := request.scope.get(IDENTITY)) is not None:
                found[identity].append(request)
        return found

    async def end(self) -> None:
        """Refuse new requests, wait a moment for streams to send the last events, and end them."""
        self.is_over = True
        until = time.monotonic() + MOST_SECONDS
        # Silence is no event that could be waited for.
        while (wait := self._last_told() + QUIET_SECONDS - time.monotonic()) > 0:
            if time.monotonic() > until:
                break
            await asyncio.sleep(wait)
        for request in self._requests:
            request.end()

    def _last_told(self) -> float:
        return max((request.told_at for request in self._requests if request.stays), default=0.0)


def _end(streams: list[OpenRequest], last_words: bytes) -> None:
    for stream in streams:
        stream.end(last_words)


class TrackRequests(HttpMiddleware):
    """Tracks every request while it is answered, and ends its answer if the server stops meanwhile."""

    def __init__(self, app: ASGIApp, open_requests: OpenRequests) -> None:
        super().__init__(app)
        self.open_requests = open_requests

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.open_requests.is_over:
            await problem_of(Stopping())(scope, receive, send)
            return
        request = self.open_requests.begin(scope)

        def send_noting(message: Message) -> Awaitable[None]:
            request.note(message)
            if request.is_stream and message["type"] == "http.response.start" and "app" in scope:
                self.open_requests.watch(scope["app"].state.guard)
            return send(message)

        try:
            await self.app(scope, receive, send_noting)
        except asyncio.CancelledError:
            if not request.is_over:
                raise
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            if not request.is_answered:
                await problem_of(Stopping())(scope, receive, send)
            elif request.is_stream:
                last = b"" if request.is_lines else request.last_words
                await send({"type": "http.response.body", "body": last, "more_body": False})
        finally:
            self.open_requests.finish(request)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request and its answer, for access log and metrics: no content, no query. `route` is the path with the names of
    its parts instead of their values, `problem` the code of the error that was answered, if it was one; `client` is the
    address that it came from, as a trusted proxy tells it."""

    method: str
    path: str
    route: str
    status: int
    seconds: float
    client: str | None
    asker: Asker | None
    problem: str | None = None


class RecordRequests(HttpMiddleware):
    """Tells listeners about every request at its end; a stream ends when its reader goes."""

    def __init__(self, app: ASGIApp, listeners: tuple[Callable[[RequestRecord], None], ...]) -> None:
        super().__init__(app)
        self.listeners = listeners

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.monotonic(), 0

        def send_noting(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            return send(message)

        try:
            await self.app(scope, receive, send_noting)
        except asyncio.CancelledError:
            status = status or CLIENT_LEFT
            raise
        finally:
            record = _record(scope, status or 500, time.monotonic() - began)
            for tell in self.listeners:
                tell(record)


_SECRET = re.compile(r"^(.*?/s/).+")
"""The path of a share link, whose secret must not be logged."""


def _record(scope: Scope, status: int, seconds: float) -> RequestRecord:
    identity: Identity | None = scope.get(IDENTITY)
    return RequestRecord(
        method=scope["method"],
        path=_SECRET.sub(r"\1...", scope["path"]),
        route=_route(scope),
        status=status,
        seconds=seconds,
        client=scope["client"][0] if scope.get("client") else None,
        asker=None if identity is None else identity.scope,
        problem=scope.get("state", {}).get("problem") or (FAILED if status == 500 else None),
    )


def _route(scope: Scope) -> str:
    """Return the route that answered: a bounded set of names, whatever clients ask for."""
    if path := getattr(scope.get("route"), "path", None):
        return str(path)
    mounted = scope.get("root_path", "").removeprefix(scope.get("app_root_path", ""))
    return f"{mounted}/..." if mounted else UNMATCHED


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do the work that a client waits for and return its result; cancel it and raise `ClientDisconnect` if the client
    leaves before."""
    leaving, working = asyncio.create_task(_gone(receive)), asyncio.create_task(work)
    try:
        await asyncio.wait((leaving, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return await working
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(leaving, working, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
