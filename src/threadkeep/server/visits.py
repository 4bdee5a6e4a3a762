"""The requests that are being answered, and how they end when the server stops.

An event stream gets a last comment and a clean end, after which browsers come back by themselves with the cursor of
what they saw last. A request that still waits for its answer is told to come again. All else is short and finishes.
"""

import asyncio
import logging
import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.errors import Stopping, StoreError
from threadkeep.server.identity import IDENTITY, Guard, Identity
from threadkeep.server.problems import problem_of
from threadkeep.server.request_id import PAST_ALL

logger = logging.getLogger(__name__)

GOODBYE = b"retry: 1000\n: the server stops; connect again\n\n"
REVOKED = b'event: error\ndata: {"code":"not_authenticated","detail":"The key or the login has ended."}\n\n'
QUIET_SECONDS = 0.2
"""How long streams must have said nothing until they end: what has just been stored is still told."""
MOST_SECONDS = 2.0
WATCH_SECONDS = 0.25
"""How often it is looked whether who listens to a stream may still do so."""


class Visit:
    """One request that is being answered."""

    def __init__(self, task: asyncio.Task[object] | None, scope: Scope) -> None:
        self._task = task
        self._scope = scope
        self.is_answered = False
        self.is_stream = False
        self.is_over = False
        self.last_words = GOODBYE
        self.told_at = time.monotonic()

    def note(self, message: Message) -> None:
        """Remember how far the answer has come."""
        if message["type"] == "http.response.start":
            self.is_answered = True
            kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
            self.is_stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif not message.get("more_body", False):
            self.is_stream = False
        self.told_at = time.monotonic()

    @property
    def identity(self) -> Identity | None:
        """Who sent the request, once that is known."""
        found: Identity | None = self._scope.get(IDENTITY)
        return found

    @property
    def stays(self) -> bool:
        """Whether it may take long: an open stream, or an answer that has not begun."""
        return self.is_stream or not self.is_answered

    def end(self, last_words: bytes = GOODBYE) -> None:
        """End it, unless it is about to end by itself; a stream says some last words."""
        if self._task is not None and self.stays:
            self.is_over = True
            self.last_words = last_words
            self._task.cancel()


class Visits:
    """All of them."""

    def __init__(self) -> None:
        self._visits: set[Visit] = set()
        self.is_over = False

    @property
    def streams(self) -> int:
        """How many event streams are open."""
        return sum(visit.is_stream for visit in self._visits)

    def begin(self, scope: Scope) -> Visit:
        """Note a request that begins to be answered in the present task."""
        visit = Visit(asyncio.current_task(), scope)
        self._visits.add(visit)
        return visit

    def finish(self, visit: Visit) -> None:
        """Note that a request is answered."""
        self._visits.discard(visit)

    async def watch(self, guard: Guard) -> None:
        """End the streams of those who would not be let in any more, for ever."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            for visits in self._streams_by_key():
                if not await _may_stay(visits[0], guard):
                    for visit in visits:
                        visit.end(REVOKED)

    def _streams_by_key(self) -> list[list[Visit]]:
        """Return the open streams of everybody, together: a key is looked up once, however many there are."""
        found: dict[bytes | None, list[Visit]] = defaultdict(list)
        for visit in self._visits:
            if visit.is_stream and (identity := visit.identity) is not None:
                found[identity.credential].append(visit)
        return list(found.values())

    async def end(self) -> None:
        """Let nobody in any more, wait a moment for the streams to tell the last news, and end them."""
        self.is_over = True
        until = time.monotonic() + MOST_SECONDS
        # Silence is no event that could be waited for.
        while (wait := self._last_told() + QUIET_SECONDS - time.monotonic()) > 0:
            if time.monotonic() > until:
                break
            await asyncio.sleep(wait)
        for visit in self._visits:
            visit.end()

    def _last_told(self) -> float:
        return max((visit.told_at for visit in self._visits if visit.stays), default=0.0)


async def _may_stay(visit: Visit, guard: Guard) -> bool:
    """Whether who listens may go on. A store that does not answer ends no stream: it is asked again in a moment."""
    try:
        return visit.identity is None or await guard.is_valid(visit.identity)
    except StoreError as error:
        logger.warning("it cannot be looked who may still listen: %s", error)
        return True


class VisitBook:
    """Middleware that writes every request into the visits, and says goodbye."""

    def __init__(self, app: ASGIApp, visits: Visits) -> None:
        self.app = app
        self.visits = visits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; end its answer if the server stops meanwhile."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.visits.is_over:
            await problem_of(Stopping())(scope, receive, send)
            return
        visit = self.visits.begin(scope)
        # What stands around looks at the beginning of an answer only, and there are many words in a stream.
        send_words: Send = scope.get(PAST_ALL, send)

        async def send_noting(message: Message) -> None:
            visit.note(message)
            if visit.is_stream and message["type"] == "http.response.body":
                await send_words(message)
            else:
                await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except asyncio.CancelledError:
            if not visit.is_over:
                raise
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            await _say_goodbye(visit, scope, receive, send)
        finally:
            self.visits.finish(visit)


async def _say_goodbye(visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
    if not visit.is_answered:
        await problem_of(Stopping())(scope, receive, send)
    elif visit.is_stream:
        await send({"type": "http.response.body", "body": visit.last_words, "more_body": False})
