"""Whether the database answers: it is asked within a limit, and once it was away looked after until all is well again.

While it is away nobody waits for it: what asks is told so at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from threadkeep.background import supervised
from threadkeep.conversation.clock import Clock
from threadkeep.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from threadkeep.store.base import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")
OUTAGES = (StoreUnavailable, StoreFull, StoreReadOnly)
"""What says that the database cannot take anything for now, whatever it is."""
LOOK_EVERY = 0.5
"""Seconds between two looks whether the database is back, or a turn has ended that draining waits for."""


@dataclass(eq=False, slots=True)
class _Asked:
    """A call that is under way: whose it is, until when, and how often that task had been cancelled before."""

    task: asyncio.Task[Any]
    until: float
    cancelling: int
    is_late: bool = False


class OutageWatch:
    """Asks the database. `since` is when it went away, until `drain` says that nothing is left to be written to it."""

    def __init__(self, database: Store, patience: float, clock: Clock, drain: Callable[[], Awaitable[bool]]) -> None:
        self._database = database
        self._patience = patience
        self._clock = clock
        self._drain = drain
        self._task: asyncio.Task[None] | None = None
        self._asked: set[_Asked] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.is_down = False
        self.since: datetime | None = None

    async def ask(self, call: Callable[[], Awaitable[T]], *, is_slow: bool = False) -> T:
        """Return what the database answers. One that does not answer in time is away, unless the call is slow by
        nature."""
        if self.is_down:
            raise StoreUnavailable("The database is away.")
        error: StoreError
        try:
            return await (call() if is_slow else self._in_time(call))
        except TimeoutError:
            error = StoreUnavailable(f"The database has not answered within {self._patience:g} seconds.")
        except OUTAGES as found:
            error = found
        self.fall(error)
        raise error

    async def _in_time(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return an answer, or raise TimeoutError. One timer for all calls is far cheaper than one for each."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("the database is asked by tasks")
        asked = _Asked(task, loop.time() + self._patience, task.cancelling())
        self._asked.add(asked)
        if self._timer is None:
            self._timer = loop.call_later(self._patience / 8, self._stop_late_calls)
        try:
            return await call()
        except asyncio.CancelledError:
            if asked.is_late and task.uncancel() <= asked.cancelling:
                raise TimeoutError from None
            raise
        finally:
            self._asked.discard(asked)

    def _stop_late_calls(self) -> None:
        loop = asyncio.get_running_loop()
        for asked in self._asked:
            if loop.time() > asked.until and not asked.is_late:
                asked.is_late = True
                asked.task.cancel()
        self._timer = loop.call_later(self._patience / 8, self._stop_late_calls) if self._asked else None

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
            self._task = asyncio.create_task(supervised("draining the spool", self._until_all_is_well))

    async def _until_all_is_well(self) -> None:
        while not await self._is_well():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(LOOK_EVERY)
        lasted = (self._clock() - self.since).total_seconds() if self.since else 0.0
        self.since = None
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
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
