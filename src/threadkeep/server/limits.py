"""How much one user, and one tenant, may ask for: requests and event streams. 0 is no limit.

Turns are limited where they begin (`turn/admission.py`), bodies where they arrive (`body_size`), what is kept in the
store (`store/caps.py`). The workers of a server count together.
"""

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from starlette.requests import HTTPConnection

from threadkeep.conversation.scope import Scope
from threadkeep.errors import RateLimited, TooManyStreams
from threadkeep.server.identity.guards import Who
from threadkeep.server.negotiation import refuse_head, wants_stream
from threadkeep.settings import Settings
from threadkeep.tally import Name, Tally

BURST_SECONDS = 10
"""A limit of requests per second is an average over so long."""


class Limits:
    """Refuses what exceeds the limits in the settings. One for a server."""

    def __init__(
        self, settings: Settings, tally: Tally | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._tally = tally or Tally()
        self._clock = clock

    def take_request(self, scope: Scope) -> None:
        """Count a request; `RateLimited`, with the time to wait, if there are too many."""
        limits = self._settings.user_requests_per_second, self._settings.tenant_requests_per_second
        for holder, rate in zip(_holders(scope), limits, strict=True):
            most = max(rate * BURST_SECONDS, 1.0)
            if rate and (wait := self._tally.request(holder, rate, most, self._clock())):
                raise RateLimited(f"At most {rate:g} requests per second.", retry_after=math.ceil(wait))

    @contextmanager
    def stream(self, scope: Scope) -> Iterator[None]:
        """Hold a place for an event stream."""
        limits = self._settings.user_streams, self._settings.tenant_streams
        places = dict(zip(_holders(scope), limits, strict=True))
        if (full := self._tally.enter(places)) is not None:
            raise TooManyStreams(f"At most {places[full]} event streams are open at a time.")
        try:
            yield
        finally:
            self._tally.leave(places)


def _holders(scope: Scope) -> tuple[Name, Name]:
    """Return a user of a tenant, and the tenant."""
    return ("requests", scope.tenant, scope.user), ("requests", scope.tenant)


def limits_of(connection: HTTPConnection) -> Limits:
    limits: Limits = connection.app.state.limits
    return limits


async def within_rate(connection: HTTPConnection, who: Who) -> None:
    """For every route: count the request."""
    limits_of(connection).take_request(who.scope)


async def room_for_export(connection: HTTPConnection, who: Who) -> AsyncIterator[None]:
    """For routes with long answers: they count as event streams, because a slow reader keeps them open."""
    with limits_of(connection).stream(who.scope):
        yield


async def room_for_stream(connection: HTTPConnection, who: Who) -> AsyncIterator[None]:
    """For routes that answer with an event stream, always (GET) or on request: take a place until it ends."""
    if connection.scope["method"] != "GET" and not wants_stream(connection.headers.get("accept", "")):
        yield
        return
    refuse_head(connection)
    with limits_of(connection).stream(who.scope):
        yield
