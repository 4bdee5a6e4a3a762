"""How much one user, and one tenant, may ask for: requests and event streams. 0 is no limit.

Turns are limited where they begin (`turn/admission.py`), bodies where they arrive (`body_size`), what is kept in the
store (`store/caps.py`). Each process counts for itself. The counts of idle users are forgotten.
"""

import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastapi import Depends
from starlette.requests import HTTPConnection

from threadkeep.conversation.scope import Scope
from threadkeep.errors import RateLimited, TooManyStreams
from threadkeep.server.identity.guards import Who
from threadkeep.server.negotiation import refuse_head, wants_stream
from threadkeep.settings import Settings

BURST_SECONDS = 10
"""A limit of requests per second is an average over so long."""

Holder = tuple[str, str | None]
"""A user of a tenant, or the tenant."""


class Quota(NamedTuple):
    """The limits of one holder."""

    requests_per_second: float
    streams: int


def _most(rate: float) -> float:
    return max(rate * BURST_SECONDS, 1.0)


@dataclass(slots=True)
class Bucket:
    """Requests that may be made at once; it fills up again with time."""

    left: float
    at: float

    def take(self, rate: float, now: float) -> float:
        """Take one request out, or return how many seconds to wait for it."""
        self.left = min(_most(rate), self.left + (now - self.at) * rate)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / rate
        self.left -= 1
        return 0.0


class Limits:
    """Refuses what exceeds the limits in the settings. One for a server."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._idle = settings.session_timeout
        self._user = _quota(settings, "user")
        self._tenant = _quota(settings, "tenant")
        self._buckets: dict[Holder, Bucket] = {}
        self._streams: Counter[Holder] = Counter()
        self._swept = clock()

    def _holders(self, scope: Scope) -> tuple[tuple[Holder, Quota], tuple[Holder, Quota]]:
        return ((scope.tenant, scope.user), self._user), ((scope.tenant, None), self._tenant)

    def take_request(self, scope: Scope) -> None:
        """Count a request; `RateLimited`, with the time to wait, if there are too many."""
        now = self._clock()
        self._let_go(now)
        for holder, quota in self._holders(scope):
            if not (rate := quota.requests_per_second):
                continue
            bucket = self._buckets.setdefault(holder, Bucket(_most(rate), now))
            if wait := bucket.take(rate, now):
                raise RateLimited(f"At most {rate:g} requests per second.", retry_after=math.ceil(wait))

    def _let_go(self, now: float) -> None:
        """Forget holders who have been idle for long: their buckets are full again."""
        if now - self._swept < self._idle:
            return
        self._swept = now
        self._buckets = {holder: bucket for holder, bucket in self._buckets.items() if now - bucket.at < self._idle}

    @contextmanager
    def stream(self, scope: Scope) -> Iterator[None]:
        """Hold a place for an event stream."""
        holders = [holder for holder, _ in self._holders(scope)]
        for holder, quota in self._holders(scope):
            if 0 < quota.streams <= self._streams[holder]:
                raise TooManyStreams(f"At most {quota.streams} event streams are open at a time.")
        self._streams.update(holders)
        try:
            yield
        finally:
            for holder in holders:
                self._streams[holder] -= 1
                if not self._streams[holder]:
                    del self._streams[holder]


def _quota(settings: Settings, who: str) -> Quota:
    return Quota(*(getattr(settings, f"{who}_{name}") for name in Quota._fields))


def _limits(connection: HTTPConnection) -> Limits:
    limits: Limits = connection.app.state.limits
    return limits


Limited = Annotated[Limits, Depends(_limits)]


async def within_rate(who: Who, limits: Limited) -> None:
    """For every route: count the request."""
    limits.take_request(who.scope)


async def room_for_export(who: Who, limits: Limited) -> AsyncIterator[None]:
    """For routes with long answers: they count as event streams, because a slow reader keeps them open."""
    with limits.stream(who.scope):
        yield


async def room_for_stream(connection: HTTPConnection, who: Who, limits: Limited) -> AsyncIterator[None]:
    """For routes that answer with an event stream, always (GET) or on request: take a place until it ends."""
    if connection.scope["method"] != "GET" and not wants_stream(connection.headers.get("accept", "")):
        yield
        return
    refuse_head(connection)
    with limits.stream(who.scope):
        yield
