"""Background work for one tenant after the other. If tenants live on several machines of a database and one machine is
away, only the work for its tenants stops; health and metrics report them, and a store that is damaged as a whole."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.errors import StoreCorrupt, StoreError

logger = logging.getLogger(__name__)

T = TypeVar("T")
ItemT = TypeVar("ItemT")
AGAIN_AFTER = timedelta(seconds=10)
"""When a job that failed for a tenant is tried again: each try may take seconds while a machine is away."""
TOLD_FOR = timedelta(minutes=1)
"""How long a failure is reported: while a machine is away, some job is tried far more often than that."""


class UnreachedTenants(NamedTuple):
    """For how many tenants background work fails, since when, and the code of the last error."""

    tenants: int
    since: datetime
    error: str


class _Failure(NamedTuple):
    since: datetime
    last: datetime
    error: StoreError

    @property
    def is_away(self) -> bool:
        """Whether an error means that other work for that tenant would fail as well, perhaps after seconds: all do, but
        damage, which is that of one conversation."""
        return not isinstance(self.error, StoreCorrupt)


class Unreached:
    """Which jobs failed for which tenants when they were tried last. `ping` raises if the whole store is away."""

    def __init__(self, ping: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._ping = ping
        self._clock = clock
        self._failures: dict[tuple[str, str], _Failure] = {}

    @property
    def state(self) -> UnreachedTenants | None:
        """What health and metrics report; None if there is nothing."""
        self._forget_old()
        if not self._failures:
            return None
        failures = self._failures.values()
        tenants = {tenant for _, tenant in self._failures}
        last = max(failures, key=lambda each: each.last)
        return UnreachedTenants(len(tenants), min(each.since for each in failures), last.error.code)

    async def each(
        self, job: str, items: Iterable[ItemT], work: Callable[[ItemT], Awaitable[T]], of: Callable[[ItemT], str] = str
    ) -> list[T]:
        """Do a job for each item, which belongs to the tenant that `of` names; return what came of it. Where a tenant's
        part of the store does not answer, the rest of its items is left out, and tried again some time later."""
        done = []
        for item in items:
            tenant = of(item)
            failure = self._failures.get((job, tenant))
            if failure is not None and failure.is_away and self._clock() < failure.last + AGAIN_AFTER:
                continue
            try:
                done.append(await work(item))
            except StoreError as error:
                await self._ping()
                self._fail(job, tenant, error)
            else:
                if failure is not None and failure.is_away:
                    self._failures.pop((job, tenant), None)
                    logger.info("%s goes on for the tenant %s", job, tenant)
        return done

    def _fail(self, job: str, tenant: str, error: StoreError) -> None:
        self._forget_old()
        now = self._clock()
        since = self._failures[job, tenant].since if (job, tenant) in self._failures else now
        if since == now:
            logger.warning("%s fails for the tenant %s and goes on for the others: %s", job, tenant, error)
        self._failures[job, tenant] = _Failure(since, now, error)

    def _forget_old(self) -> None:
        oldest = self._clock() - TOLD_FOR
        self._failures = {key: each for key, each in self._failures.items() if each.last > oldest}

    def forget_outage(self) -> None:
        """Forget who could not be reached or written to: the whole store works again. Damage stays."""
        self._failures = {key: each for key, each in self._failures.items() if not each.is_away}

    def keep(self, job: str, tenants: Set[str]) -> None:
        """Forget where a job failed, but for these tenants: for all others it has nothing to do."""
        self._failures = {key: each for key, each in self._failures.items() if key[0] != job or key[1] in tenants}


ENOUGH = 3
"""How many conversations must be refused, and none written meanwhile."""


class Damage:
    """The conversations that were refused as damaged since the last successful write. One of them is its own problem; a
    store that refuses everything is not ready. That is told for `TOLD_FOR`, because a store that is sent nothing could
    never prove it wrong."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refused: dict[str, datetime] = {}

    @contextmanager
    def noted(self, conversation: str | None) -> Iterator[None]:
        """Note how a write ends; a conversation that is being created may have no id yet."""
        try:
            yield
        except StoreCorrupt:
            name = conversation or f"new {len(self._refused)}"
            self._refused.pop(name, None)
            self._refused[name] = self._clock()
            self._refused = dict(list(self._refused.items())[-ENOUGH:])
            raise
        else:
            if self._refused:
                self._refused.clear()

    def check(self) -> None:
        """Raise `StoreCorrupt` if nothing can be written."""
        oldest = self._clock() - TOLD_FOR
        if sum(at > oldest for at in self._refused.values()) >= ENOUGH:
            raise StoreCorrupt("Whatever is written is refused, because stored data is damaged.")
