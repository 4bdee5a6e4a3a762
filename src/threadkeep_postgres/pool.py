"""Connections to PostgreSQL, and the statements that are prepared on them.

The driver's own pool resets a connection after each use, which costs a round trip. Ours need no resetting: every call
is one statement in a transaction of its own and sets nothing beyond it.

A call whose connection is cut is made again on another one where that does no harm. One that is not answered in time is
not: the server has fallen silent, and whoever waits is told so.
"""

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from time import monotonic
from typing import Any

import asyncpg

from threadkeep.errors import StoreBusy, StoreError, StoreUnavailable
from threadkeep_postgres.address import Address
from threadkeep_postgres.faults import (
    FAULTS,
    MovedError,
    is_cut,
    is_locked,
    is_too_many,
    is_transient,
    is_undone,
    lacks_statement,
    spoils,
    translate,
)

CALL_SECONDS = 4.0
"""How long a call may take, and how long it is made again when it meets others, unless the pool is told otherwise."""
LOOKS = 8
"""How often it is looked within that time whether there is an answer."""
SLOW_LOOKS = 15 * LOOKS
CLOSE_SECONDS = 2.0
ATTEMPTS = 10
CLOSED = "The store is closed."
SILENT = "it does not answer"
_SLOW = frozenset({"search", "holding", "unindexed", "catch_up", "purge", "rewrite", "statistics", "users"})
_ONCE = frozenset({"add_act", "add_api_key", "commit", "create_conversation", "file_finish", "hide", "restore"})
"""Verbs that are refused, or do something once more, when they are called again."""


class _Link:
    """One connection with its prepared statements."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", *, is_prepared: bool) -> None:
        self.connection = connection
        self.looks_left = 0
        self.is_silent = False
        self.is_asked = False
        self._is_prepared = is_prepared
        self._statements: dict[str, Any] = {}

    async def call(self, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        """Return the rows of an answer."""
        if verb == "move_acts":
            return await self._move_acts(*arguments)
        self.is_asked = False
        try:
            statement = self._statements.get(verb) or await self._prepare(verb, len(arguments))
        except AttributeError as error:
            if not self.connection.is_closed():
                raise
            # The driver prepares in several steps, and misses its protocol if it is cut between two of them.
            raise asyncpg.InterfaceError("the connection was cut") from error
        self.is_asked = True
        rows: list[asyncpg.Record] = await statement.fetch(*arguments)
        return rows

    async def _prepare(self, verb: str, arguments: int) -> Any:
        sql = _sql(verb, arguments)
        if not self._is_prepared:
            # A statement without a name lives until the next one: a pooler needs to know nothing about it.
            return await self.connection.prepare(sql, name="")
        # Behind a pooler others may share the connection: one name is one statement for all of them.
        name = f"threadkeep_{sha256(sql.encode()).hexdigest()[:32]}"
        statement = self._statements[verb] = await self.connection.prepare(sql, name=name)
        return statement

    async def _move_acts(self, cell: int, home: int, most: int) -> list[asyncpg.Record]:
        """Take pending acts out of one cell of a tenant and add them to its home: alone in taking a transaction of
        several calls, because each is sent to the machine of its cell."""
        async with self.connection.transaction():
            taken = await self.call("take_acts", (cell, most))
            for row in taken:
                await self.call("add_act", (home, row["act"], row["at"]))
        return taken

    def look(self) -> None:
        """Cut the connection if it does not answer in time. Looks are counted, not seconds: a process that was frozen
        has waited for nobody meanwhile."""
        self.looks_left -= 1
        if self.looks_left < 0:
            self.is_silent = True
            self.connection.terminate()


def statements() -> dict[str, str]:
    """Return what is asked in one statement, by the verb in the comment above it."""
    folder = files("threadkeep_postgres").joinpath("statements")
    texts = [path.read_text(encoding="utf-8") for path in folder.iterdir()]
    return {part[1]: part[2].strip() for text in texts for part in _STATEMENT.finditer(text)}


_STATEMENT = re.compile(r"^-- (\w+)\n(.*?)(?=^-- \w+\n|\Z)", re.MULTILINE | re.DOTALL)
_STATEMENTS = statements()


def _sql(verb: str, arguments: int) -> str:
    """Return the statement of a verb, or the call of the function that does more than one."""
    if verb in _STATEMENTS:
        return _STATEMENTS[verb]
    # The verb is a name in our own code; what comes from outside goes in the arguments.
    places = ", ".join(f"${number}" for number in range(1, arguments + 1))
    # What returns nothing is called as an expression, which is cheaper than a table without rows.
    return f"SELECT {'' if verb == 'commit' else '* FROM '}threadkeep.{verb}({places})"


class Pool:
    """Asks the database, each time on a connection that nobody else uses meanwhile."""

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self.call_seconds = CALL_SECONDS
        self._size = self.address.pool_size
        self._idle: list[_Link] = []
        self._busy: set[_Link] = set()
        self._open = 0
        self._watch: asyncio.TimerHandle | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def close(self) -> None:
        """Wait for calls that are being answered, then close all connections; cut those that are not answered soon."""
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._open > len(self._idle):
                    await self._turn()
                await asyncio.gather(*(link.connection.close() for link in self._idle), return_exceptions=True)
        except TimeoutError:
            for link in [*self._busy, *self._idle]:
                link.connection.terminate()
        self._idle.clear()
        self._open = len(self._busy)
        self._fail(CLOSED)
        if self._watch is not None:
            self._watch.cancel()

    async def call(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function and return its rows. When two transactions met, the call is made again; when its connection
        was cut too, unless it might then do something twice."""
        until, failure = monotonic() + self.call_seconds, BaseException()
        for _ in range(ATTEMPTS):
            try:
                return await self._persist(verb, arguments, again=verb not in _ONCE)
            except FAULTS as error:
                if not is_transient(error):
                    raise translate(error) from error
                failure = error
                if monotonic() > until:
                    break
        raise (StoreBusy() if verb == "rewrite" else translate(failure)) from failure

    async def write(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function that writes; `MovedError` if somebody else was faster, and nothing was written."""
        try:
            return await self._persist(verb, arguments, again=False)
        except FAULTS as error:
            if is_transient(error) and not is_locked(error):
                raise MovedError from error
            raise translate(error) from error

    async def _persist(self, verb: str, arguments: Sequence[Any], *, again: bool) -> list[asyncpg.Record]:
        """Call a function, and as long as that does no harm once more if the connection is cut."""
        until, failure = monotonic() + self.call_seconds, BaseException()
        for _ in range(ATTEMPTS):
            try:
                return await self._call(verb, arguments, again=again)
            except _Cut as cut:
                failure = cut.error
            except StoreUnavailable as error:
                if not is_cut(error.__cause__):
                    raise
                failure = error
            if monotonic() > until:
                break
        raise failure

    async def one(self, verb: str, *arguments: Any) -> asyncpg.Record:
        """Call a function that returns one row."""
        return (await self.call(verb, *arguments))[0]

    async def _call(self, verb: str, arguments: Sequence[Any], *, again: bool) -> list[asyncpg.Record]:
        """Call a function once; raises `_Cut` if the connection was cut and the call may be made again."""
        link = await self._link()
        self._busy.add(link)
        link.looks_left = SLOW_LOOKS if verb in _SLOW else LOOKS
        if self._watch is None:
            self._look()
        try:
            return await link.call(verb, arguments)
        except FAULTS as error:
            if link.is_silent:
                self._lose(link)
                self._fail(f"The database cannot be reached: {SILENT}.")
                raise TimeoutError(SILENT) from error
            if lacks_statement(error):
                self.address.stop_preparing()
                self._lose(link)
                raise _Cut(error) from error
            if link.connection.is_closed() or spoils(error):
                self._lose(link)
                if is_undone(error) or (is_cut(error) and (again or not link.is_asked)):
                    raise _Cut(error) from error
            raise
        except BaseException:
            # Who gave up waiting leaves an answer that nobody reads.
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

    def _lose(self, link: _Link) -> None:
        """Drop a connection that was cut, and with it all idle ones: what ended one has likely ended them."""
        self.address.doubt()
        link.connection.terminate()
        for idle in self._idle:
            idle.connection.terminate()
        self._open -= len(self._idle)
        self._idle.clear()

    def _look(self) -> None:
        """Cut connections that do not answer. One timer for all calls is cheaper than one for each."""
        for link in self._busy:
            link.look()
        again = asyncio.get_running_loop().call_later
        self._watch = again(self.call_seconds / LOOKS, self._look) if self._busy else None

    async def _link(self) -> _Link:
        """Return a connection that nobody uses: an idle one, a new one, or the next that is given back."""
        while not self._closed:
            while self._idle:
                link = self._idle.pop()
                if not link.connection.is_closed():
                    return link
                self._open -= 1
            if self._open < self._size and (new := await self._connect()):
                return new
            # Who was refused may have missed that one was given back meanwhile.
            if not self._idle:
                await self._turn()
        raise StoreUnavailable(CLOSED)

    async def _connect(self) -> _Link | None:
        """Open a connection; if the server allows no more and there are others, return none: they come back."""
        self._open += 1
        try:
            return _Link(await self.address.connect(), is_prepared=self.address.is_prepared)
        except StoreError as error:
            self._open -= 1
            if self._open and is_too_many(error.__cause__):
                return None
            self._fail(str(error))
            # It let us in when the store was opened: whoever refuses us now may let us in again.
            raise StoreUnavailable(str(error)) from error.__cause__
        except BaseException:
            self._open -= 1
            self._wake()
            raise

    async def _turn(self) -> None:
        """Wait until a connection was given back."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._wake()
            raise

    def _wake(self) -> None:
        """Let the one go on who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _fail(self, why: str) -> None:
        """Tell all who wait that there will be no connection for them."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(StoreUnavailable(why))


class _Cut(Exception):
    """A connection was cut during a call that may be made again."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
