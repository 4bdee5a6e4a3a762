"""Connections to PostgreSQL, and the statements that are prepared on them.

The driver's own pool resets a connection after each use, which costs a round trip. Ours need no resetting: every call
is one statement in a transaction of its own and sets nothing beyond it. With PgBouncer in transaction mode this needs
its prepared statements (`max_prepared_statements`, release 1.21 or newer).
"""

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Any, Self

import asyncpg

from threadkeep.errors import InvalidStoreUrl, StoreBusy, StoreUnavailable
from threadkeep.store.postgres.faults import FAULTS, MovedError, is_too_many, is_transient, spoils, translate

POOL_SIZE = 32
"""How many connections are opened at most, when they are needed, unless the URL says `pool_size=...`."""
CONNECT_SECONDS = 10
CALL_SECONDS = 60
ATTEMPTS = 10
_POOL_SIZE = re.compile(r"([?&])pool_size=([^&]*)&?")
_SETTINGS = {"application_name": "threadkeep", "synchronous_commit": "on", "lock_timeout": "10s", "jit": "off"}


def split_url(url: str) -> tuple[str, int]:
    """Return the URL without the part that is ours, and the size of the pool."""
    found = _POOL_SIZE.search(url)
    if found is None:
        return url, POOL_SIZE
    if not (found[2].isascii() and found[2].isdecimal()) or not 1 <= int(found[2]) <= 1000:
        raise InvalidStoreUrl("pool_size is a number from 1 to 1000.")
    return _POOL_SIZE.sub(r"\1", url).rstrip("?&"), int(found[2])


async def connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Open one connection."""
    try:
        return await asyncpg.connect(url, timeout=CONNECT_SECONDS, server_settings=_SETTINGS)
    except (asyncpg.ClientConfigurationError, ValueError) as error:
        raise InvalidStoreUrl(f"The URL of the database is not valid: {error}.") from None
    except FAULTS as error:
        raise translate(error) from error


class FromNow(timedelta):
    """An argument: the moment that comes so much later than now, by the clock of the database that all share."""

    @classmethod
    def of(cls, time: timedelta) -> Self:
        """Return the moment that comes after this time."""
        return cls(time.days, time.seconds, time.microseconds)


class _Link:
    """One connection with its prepared statements."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.connection = connection
        self.busy_since = 0.0
        self._statements: dict[str, Any] = {}

    async def call(self, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        """Return the rows of an answer."""
        statement: Any = self._statements.get(verb)
        if statement is None:
            statement = self._statements[verb] = await self.connection.prepare(_function_call(verb, arguments))
        rows: list[asyncpg.Record] = await statement.fetch(*arguments)
        return rows


_LISTED = "key, id, version, created_at, updated_at, status, archived, assistant, title, model, last, head"
"""What a list shows of a conversation: not what may be large."""


def _function_call(verb: str, arguments: Sequence[Any]) -> str:
    # The verb is a name in our own code; what comes from outside goes in the arguments.
    places = ", ".join(
        f"threadkeep.moment() + ${number}::interval" if isinstance(argument, FromNow) else f"${number}"
        for number, argument in enumerate(arguments, 1)
    )
    return f"SELECT {_LISTED if verb == 'list' else '*'} FROM threadkeep.{verb}({places})"


class Pool:
    """Calls functions of the schema, each on a connection that nobody else uses meanwhile."""

    def __init__(self, url: str) -> None:
        self.url, self._size = split_url(url)
        self._idle: list[_Link] = []
        self._busy: set[_Link] = set()
        self._open = 0
        self._watch: asyncio.TimerHandle | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def close(self) -> None:
        """Wait for calls that are being answered, then close all connections."""
        self._closed = True
        while self._open > len(self._idle):
            await self._turn()
        self._wake()
        if self._watch is not None:
            self._watch.cancel()
        while self._idle:
            link = self._idle.pop()
            self._open -= 1
            try:
                await link.connection.close(timeout=CONNECT_SECONDS)
            except FAULTS:
                link.connection.terminate()

    async def call(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function and return its rows. When two transactions met, the call is made again."""
        for _ in range(ATTEMPTS):
            try:
                return await self._call(verb, arguments)
            except FAULTS as error:
                if not is_transient(error):
                    raise translate(error) from error
        raise StoreBusy

    async def write(self, verb: str, *arguments: Any) -> None:
        """Call a function that writes; `MovedError` if somebody else was faster, and nothing was written."""
        try:
            await self._call(verb, arguments)
        except FAULTS as error:
            if is_transient(error):
                raise MovedError from error
            raise translate(error) from error

    async def one(self, verb: str, *arguments: Any) -> asyncpg.Record:
        """Call a function that returns one row."""
        return (await self.call(verb, *arguments))[0]

    async def _call(self, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        link = self._idle.pop() if self._idle and not self._closed else await self._link()
        self._busy.add(link)
        link.busy_since = monotonic()
        if self._watch is None:
            self._look()
        try:
            return await link.call(verb, arguments)
        except FAULTS as error:
            if spoils(error):
                link.connection.terminate()
            raise
        finally:
            self._busy.discard(link)
            if link.connection.is_closed():
                self._open -= 1
            else:
                self._idle.append(link)
            if self._waiting:
                self._wake()

    def _look(self) -> None:
        """Cut connections that do not answer. One timer for all calls is cheaper than one for each."""
        for link in self._busy:
            if monotonic() > link.busy_since + CALL_SECONDS:
                link.connection.terminate()
        self._watch = asyncio.get_running_loop().call_later(CALL_SECONDS / 4, self._look) if self._busy else None

    async def _link(self) -> _Link:
        """Return a connection that nobody uses: an idle one, a new one, or the next that is given back."""
        while not self._closed:
            if self._idle:
                return self._idle.pop()
            if self._open < self._size and (link := await self._connect()):
                return link
            # Who was refused may have missed that one was given back meanwhile.
            if not self._idle:
                await self._turn()
        raise StoreUnavailable("The store is closed.")

    async def _connect(self) -> _Link | None:
        """Open a connection; if the server allows no more and there are others, return none: they come back."""
        self._open += 1
        try:
            return _Link(await connect(self.url))
        except BaseException as error:
            self._open -= 1
            if self._open and is_too_many(error.__cause__):
                return None
            self._wake()
            raise

    async def _turn(self) -> None:
        """Wait until a connection was given back."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()
            raise

    def _wake(self) -> None:
        """Let the one go on who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
