"""Whether the database answers: calls have a time limit, and after a failure the database is checked until it is back
and the spool is drained. While it is away, calls fail at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
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
"""Errors that mean that the database is out of reach or takes no writes."""
AWAY = "The database is away."
LOOK_EVERY = 0.5
"""Seconds between two looks whether the database is back, or a turn has ended that draining waits for."""
TICKS = 8
"""How often within the patience late calls are looked for."""
LOOKS_UNTOLD = 120
"""After how many checks an outage is logged again."""


@dataclass(frozen=True, kw_only=True)
class SpoolLimits:
    """After how many seconds a database that does not answer counts as away, how much text the spool may hold, and
    whether turns are answered during an outage or wait for its end."""

    patience: float = 3.0
    max_bytes: int = 1024**3
    answers: bool = True


class OutageWatch:
    """Asks the database. `since` is when it went away, until `drain` says that nothing is left to be written to it;
    `held` tells in words how much is."""

    def __init__(
        self,
        database: Store,
        patience: float,
        clock: Clock,
        drain: Callable[[], Awaitable[bool]],
        held: Callable[[], str],
    ) -> None:
        self._database = database
        self._patience = patience
        self._clock = clock
        self._drain = drain
        self._held = held
        self._task: asyncio.Task[None] | None = None
        # Since which tick each task waits for an answer; of those that were told to stop, how often they had been
        # before. Ticks are counted, not seconds: a process that was frozen has waited for nobody meanwhile.
        self._tick = 0
        self._asked: dict[asyncio.Task[Any] | None, int] = {}
        self._late: dict[asyncio.Task[Any], int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.is_down = False
        self.since: datetime | None = None

    async def ask(self, call: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        """Return what the database answers. One that does not answer in time is away."""
        if self.is_down:
            raise StoreUnavailable(AWAY)
        # One timer for all calls is far cheaper than one for each.
        self._asked[task := asyncio.current_task()] = self._tick
        if self._timer is None:
            self._wait_a_tick()
        try:
            return await call(*args, **kwargs)
        except OUTAGES as error:
            self.fall(error)
            raise
        except asyncio.CancelledError:
            if task is None or task not in self._late or task.uncancel() > self._late[task]:
                raise
            late = StoreUnavailable(f"The database has not answered within {self._patience:g} seconds.")
            self.fall(late)
            raise late from None
        finally:
            self._asked.pop(task, None)
            if self._late and task is not None:
                self._late.pop(task, None)

    async def ask_patiently(self, call: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        """Return what the database answers to a call that is slow by nature."""
        if self.is_down:
            raise StoreUnavailable(AWAY)
        try:
            return await call(*args, **kwargs)
        except OUTAGES as error:
            self.fall(error)
            raise

    def _wait_a_tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._patience / TICKS, self._stop_late_calls)

    def _stop_late_calls(self) -> None:
        self._tick += 1
        for task, since in self._asked.items():
            if task is not None and self._tick - since > TICKS and task not in self._late:
                self._late[task] = task.cancelling()
                task.cancel()
        self._timer = None
        if self._asked:
            self._wait_a_tick()

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
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
