"""Which of several hosts is the primary: the one that takes writes, and of two that do, the one that was promoted last.

A primary that was frozen or cut off and comes back still says that it can be written. What gives it away is its
timeline, the number that PostgreSQL raises with every promotion: whoever has seen a newer one does not go back to it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from threadkeep.errors import StoreUnavailable
from threadkeep_postgres.faults import FAULTS, translate

logger = logging.getLogger("threadkeep.store.postgres.hosts")

OTHERS_SECONDS = 1.0
"""How long the others may take to answer when one has that can be written, unless that one is newly promoted."""
OLD_PRIMARY = "only a primary from before the last promotion can be written: the standby took over from it"
_ENDLESS = 2**32
# The name of the file that is written begins with the timeline. A standby, or a service without such files, has none.
_TIMELINE = """
SELECT CASE WHEN NOT pg_is_in_recovery()
    THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END
"""


class Hosts:
    """The hosts of one database, and what is known of them: who was the primary last, and its timeline."""

    def __init__(self, names: Sequence[str], reach: Callable[[str], Awaitable[Any]]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._reach = reach
        self._primary: str | None = None
        self._newest = 0
        self._search: asyncio.Task[str] | None = None

    def doubt(self) -> None:
        """Look at all hosts before the next connection is made: something happened to one."""
        self._primary = None

    async def connect(self) -> Any:
        """Connect to the primary; raises what kept it from that."""
        if self._primary is not None:
            try:
                return await self._reach(self._primary)
            except FAULTS as error:
                logger.warning("%s cannot be used, all hosts are looked at: %s", self._primary, translate(error))
                self._primary = None
        return await self._reach(await self._find())

    async def _find(self) -> str:
        """Find the primary, once for all who wait for it."""
        if self._search is None:
            self._search = asyncio.create_task(self._look())
            self._search.add_done_callback(self._found)
        return await asyncio.shield(self._search)

    def _found(self, search: "asyncio.Task[str]") -> None:
        self._search = None
        _note(search)

    async def _look(self) -> str:
        """Ask all hosts at once; take the newest of those that can be written."""
        asked = {name: asyncio.create_task(self._ask(name)) for name in self._names}
        found: dict[str, int] = {}
        waiting = set(asked.values())
        for task in waiting:
            task.add_done_callback(_note)
        try:
            while waiting and max(found.values(), default=0) <= (self._newest or _ENDLESS):
                patience = OTHERS_SECONDS if found else None
                done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                found |= {name: task.result() for name, task in asked.items() if task in done and not task.exception()}
        finally:
            for task in waiting:
                task.cancel()
        if not found:
            raise asked[self._names[-1]].exception() or StoreUnavailable()
        # Of equals, such as two poolers, the first in the URL.
        name = max(filter(found.__contains__, self._names), key=found.__getitem__)
        if found[name] < self._newest:
            raise ConnectionError(OLD_PRIMARY)
        if found[name] > self._newest > 0:
            logger.warning("%s is the primary now, on timeline %s", name, found[name])
        self._primary, self._newest = name, found[name]
        return name

    async def _ask(self, name: str) -> int:
        """Return the timeline of a host that can be written, 0 if it tells none."""
        connection = await self._reach(name)
        try:
            return int(await connection.fetchval(_TIMELINE, timeout=OTHERS_SECONDS) or 0)
        except asyncpg.PostgresError:
            return 0
        finally:
            connection.terminate()


def _note(task: "asyncio.Task[Any]") -> None:
    """Take note of what a task failed with, which nobody may wait for any more."""
    if not task.cancelled():
        task.exception()
