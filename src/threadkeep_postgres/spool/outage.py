"""Whether the database answers: after a failure it is looked at until it is back and the spool is drained. While it is
away, calls fail at once. One that does not answer in time is found out by its pool of connections."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import datetime
from typing import Any, TypeVar

from threadkeep.background import supervised
from threadkeep.conversation.clock import Clock
from threadkeep.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from threadkeep.store.base import Operations

logger = logging.getLogger("threadkeep.store.spool.outage")

T = TypeVar("T")
OUTAGES = (StoreUnavailable, StoreFull, StoreReadOnly)
"""Errors that mean that the database is out of reach or takes no writes."""
LOOK_EVERY = 0.5
"""Seconds between two looks whether the database is back, or a turn has ended that draining waits for."""
LOOKS_UNTOLD = 120
"""After how many checks an outage is logged again."""


class OutageWatch:
    """Asks the database. `since` is when it went away, until `drain` says that nothing is left to be written to it;
    `held` tells in words how much is."""

    def __init__(
        self, database: Operations, clock: Clock, drain: Callable[[], Awaitable[bool]], held: Callable[[], str]
    ) -> None:
        self._database = database
        self._clock = clock
        self._drain = drain
        self._held = held
        self._task: asyncio.Task[None] | None = None
        self.is_down = False
        self.since: datetime | None = None

    async def ask(self, call: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        """Return what the database answers."""
        if self.is_down:
            raise StoreUnavailable("The database is away.")
        try:
            return await call(*args, **kwargs)
        except OUTAGES as error:
            self.fall(error)
            raise

    def fall(self, why: StoreError) -> None:
        """Take note that the database is away, and look after it from now on."""
        if self.since is None:
            logger.warning("the database is away, what is sent is kept in the spool: %s", why)
        self.is_down = True
        self.look()

    def look(self) -> None:
        """Have everything drained that is in the spool, as soon as the database answers."""
        self.since = self.since or self._clock()
        if self._task is None or self._task.done():
            work = supervised("draining the spool", self._until_all_is_well)
            # In an empty context: what it logs does not belong to the request that met the outage first.
            self._task = asyncio.create_task(work, context=Context())

    async def _until_all_is_well(self) -> None:
        looks = 0
        while not await self._is_well():
            await asyncio.sleep(LOOK_EVERY)
            looks += 1
            if looks % LOOKS_UNTOLD == 0:
                logger.warning("the database has been away since %s: %s in the spool", self.since, self._held())
        lasted = (self._clock() - self.since).total_seconds() if self.since else 0.0
        self.since = None
        # A full database still answers pings: what failed in it was put down to single tenants.
        self._database.unreached.forget_outage()
        logger.info("the database has everything again, %.1f seconds after it went away", lasted)

    async def _is_well(self) -> bool:
        try:
            await self._database.ping()
            self.is_down = False
            # It may have gone away again while the last of it was written.
            return await self._drain() and not self.is_down
        except OUTAGES as error:
            self.fall(error)
        except StoreError as error:
            logger.warning("the spool could not be drained, which is tried again: %s", error)
        return False

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
