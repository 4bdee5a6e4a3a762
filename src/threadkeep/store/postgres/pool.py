"""Connections to PostgreSQL, and the statements that are prepared on them.

The driver's own pool resets a connection after each use, which costs a round trip. Ours need no resetting: every call
is one statement in a transaction of its own and sets nothing beyond it. With PgBouncer in transaction mode this needs
its prepared statements (`max_prepared_statements`, release 1.21 or newer).
"""

import asyncio
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import asyncpg

from threadkeep.errors import InvalidStoreUrl, StoreBusy, StoreUnavailable
from threadkeep.store.postgres.faults import FAULTS, is_transient, spoils, translate

POOL_SIZE = 16
"""How many connections are opened at most, unless the URL says `pool_size=...`."""
CONNECT_SECONDS = 10
CALL_SECONDS = 60
ATTEMPTS = 10
PLAIN_APPEND = files("threadkeep.store.postgres").joinpath("append.sql").read_text(encoding="utf-8")
_POOL_SIZE = re.compile(r"([?&])pool_size=([^&]*)&?")
_SETTINGS = {"application_name": "threadkeep", "synchronous_commit": "on", "lock_timeout": "10s", "jit": "off"}


def split_url(url: str) -> tuple[str, int]:
    """Return the URL without the part that is ours, and the size of the pool."""
    found = _POOL_SIZE.search(url)
    if found is None:
        return url, POOL_SIZE
    if not found[2].isdecimal() or not 1 <= int(found[2]) <= 1000:
        raise InvalidStoreUrl("pool_size is a number from 1 to 1000.")
    return _POOL_SIZE.sub(r"\1", url).rstrip("?&"), int(found[2])


async def connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Open one connection."""
    try:
        return await asyncpg.connect(
            url, timeout=CONNECT_SECONDS, command_timeout=CALL_SECONDS, server_settings=_SETTINGS
        )
    except (asyncpg.ClientConfigurationError, ValueError) as error:
        raise InvalidStoreUrl(f"The URL of the database is not valid: {error}.") from None
    except FAULTS as error:
        raise translate(error) from error


class _Link:
    """One connection with its prepared statements."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.connection = connection
        self._statements: dict[str, Any] = {}

    async def call(self, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        statement = self._statements.get(verb)
        if statement is None:
            sql = PLAIN_APPEND if verb == "plain_append" else _function_call(verb, len(arguments))
            statement = self._statements[verb] = await self.connection.prepare(sql)
        return await statement.fetch(*arguments)


def _function_call(verb: str, count: int) -> str:
    # The verb is a name in our own code; what comes from outside goes in the arguments.
    places = ", ".join(f"${number}" for number in range(1, count + 1))
    return f"SELECT * FROM threadkeep.{verb}({places})"


class Pool:
    """Calls functions of the schema, each on a connection that nobody else uses meanwhile."""

    def __init__(self, url: str) -> None:
        self._url, size = split_url(url)
        self._free = asyncio.Semaphore(size)
        self._idle: list[_Link] = []
        self._size = size
        self._closed = False

    async def close(self) -> None:
        """Wait for calls that are being answered, then close all connections."""
        self._closed = True
        for _ in range(self._size):
            await self._free.acquire()
        for link in self._idle:
            try:
                await link.connection.close(timeout=CONNECT_SECONDS)
            except FAULTS:
                link.connection.terminate()
        self._idle.clear()
        for _ in range(self._size):
            self._free.release()

    async def call(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function and return its rows. When two transactions met, the call is made again."""
        for _ in range(ATTEMPTS):
            try:
                return await self._call(verb, arguments)
            except FAULTS as error:
                if not is_transient(error):
                    raise translate(error) from error
        raise StoreBusy

    async def plain_append(self, *arguments: Any) -> bool:
        """Append what `append.sql` says; return whether it took place."""
        try:
            return bool(await self._call("plain_append", arguments))
        except asyncpg.UniqueViolationError:
            return False
        except FAULTS as error:
            raise translate(error) from error

    async def one(self, verb: str, *arguments: Any) -> asyncpg.Record:
        """Call a function that returns one row."""
        return (await self.call(verb, *arguments))[0]

    async def _call(self, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        async with self._free:
            link = await self._link()
            try:
                rows = await link.call(verb, arguments)
            except FAULTS as error:
                if spoils(error):
                    link.connection.terminate()
                raise
            finally:
                if not link.connection.is_closed():
                    self._idle.append(link)
            return rows

    async def _link(self) -> _Link:
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        while self._idle:
            link = self._idle.pop()
            if not link.connection.is_closed():
                return link
        return _Link(await connect(self._url))
