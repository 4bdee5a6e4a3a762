"""Reading from replicas what costs the primary most: lists, search, history.

Nobody reads less there than at the primary: before a read it is asked how far its log is flushed, and the replica that
is to answer must have come as far. So a read finds all that was acknowledged before it began, to whomever and by
whichever instance, and nothing is remembered for anybody. All who want to read at a moment share the question. A
replica that is behind, or away, is left alone for a while, and the primary answers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any

import asyncpg

from threadkeep.errors import StoreError
from threadkeep_postgres.address import Address
from threadkeep_postgres.pool import Pool

logger = logging.getLogger("threadkeep.store.postgres.replicas")

_LISTS = {"list", "list_floor", "list_tenant"}
_FOUND = {"search", "search_titles"}
_HISTORY = {"snapshot", "tree", "newest", "after", "count", "summary", "entries_at"}
READS = _LISTS | _FOUND | _HISTORY
"""What replicas are asked. What follows a turn that runs (`log`) is not: it would wait for the replay of every word."""
WAITS_FOR = 0.05
"""How many seconds a replica may be behind."""
LOOKS_EVERY = 0.002
SURE_FOR = 1.0
"""For how long a replica is taken to be there that was."""
BEHIND_FOR, AWAY_FOR = 1.0, 5.0
"""For how long a replica is left alone that is behind, and one that is away."""
ANSWERS_WITHIN = 1.0
"""How long a replica may be silent."""


class Shared:
    """A question that all who want to know the answer ask together: it is asked after the last of them has come."""

    def __init__(self, ask: Callable[[], Awaitable[int]]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[int] | None = None
        self._next: asyncio.Task[int] | None = None

    async def answer(self) -> int:
        """Return an answer to the question as it is asked from now on."""
        if self._next is None:
            self._next = asyncio.create_task(self._ask_behind(self._asked))
            self._next.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._next)

    async def _ask_behind(self, asked: asyncio.Task[int] | None) -> int:
        if asked is not None:
            await asyncio.wait((asked,))
        self._asked, self._next = self._next, None
        return await self._ask()


class Replica:
    """One replica, and what is known of it."""

    def __init__(self, url: str) -> None:
        self.name = Address(url).name
        self.pool = Pool(url)
        self.pool.call_seconds = self.pool.address.connect_seconds = ANSWERS_WITHIN
        self._place = Shared(self._replayed)
        self._replays, self._at = 0, -SURE_FOR
        self._alone_until = 0.0
        self._is_out = False

    def is_there(self) -> bool:
        """Whether it may be asked. Of one that was left alone for long enough one caller finds out."""
        if self._alone_until > monotonic():
            return False
        if self._is_out:
            self._alone_until = monotonic() + AWAY_FOR
        return True

    def leave(self, seconds: float, why: str) -> None:
        """Leave it alone for a while."""
        self._alone_until = monotonic() + seconds
        if not self._is_out:
            logger.warning("the replica %s is left alone: %s", self.name, why)
        self._is_out = True

    async def reaches(self, place: int) -> bool:
        """Whether it has come to a place in the log, or does so soon."""
        until = monotonic() + WAITS_FOR
        while place > self._replays or monotonic() > self._at + SURE_FOR:
            self._replays = max(self._replays, await self._place.answer())
            self._at = monotonic()
            if self._replays < place:
                if monotonic() > until:
                    return False
                await asyncio.sleep(LOOKS_EVERY)
        if self._is_out:
            logger.warning("the replica %s is asked again", self.name)
        self._is_out, self._alone_until = False, 0.0
        return True

    async def _replayed(self) -> int:
        return int((await self.pool.one("replayed"))["place"] or 0)


class ReadingPool(Pool):
    """Asks the primary, and its replicas what they may be asked."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._replicas = [Replica(each) for each in self.address.replicas()]
        self._flushed = Shared(self._place)

    async def close(self) -> None:
        await asyncio.gather(*(replica.pool.close() for replica in self._replicas))
        await super().close()

    async def call(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        if verb in READS and (replica := self._ready()) is not None:
            place = await self._flushed.answer()
            rows = await _read(replica, place, verb, arguments)
            if rows is not None:
                return rows
        return await super().call(verb, *arguments)

    def _ready(self) -> Replica | None:
        """Return a replica that may be asked, each in turn."""
        for _ in self._replicas:
            self._replicas.append(replica := self._replicas.pop(0))
            if replica.is_there():
                return replica
        return None

    async def _place(self) -> int:
        return int((await self.one("flushed"))["place"])


async def _read(replica: Replica, place: int, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record] | None:
    """Return what a replica answers as of a place in the log; none if it does not."""
    try:
        if not await replica.reaches(place):
            replica.leave(BEHIND_FOR, "it is behind")
            return None
        return await replica.pool.call(verb, *arguments)
    except StoreError as error:
        replica.leave(AWAY_FOR, str(error))
        return None


def pool_of(url: str) -> Pool:
    """Return what asks the database behind a URL, and the replicas that it names."""
    return ReadingPool(url) if Address(url).replicas() else Pool(url)
