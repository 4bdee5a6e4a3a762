"""A wire over PostgreSQL: NOTIFY and LISTEN on a connection of its own.

Words are not sent within the transactions that they tell of: a transaction that notifies commits under a lock of the
whole server, so that writers wait for each other's disk (measured with 32 of them: less than half of the commits).
Through PgBouncer in transaction mode nothing is heard; readers then look into the log by themselves, as they do
whenever words are lost.
"""

from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from threadkeep.errors import StoreUnavailable
from threadkeep.store.postgres.faults import FAULTS, translate
from threadkeep.store.postgres.pool import connect
from threadkeep.store.wire import Wire

CHANNEL = "threadkeep"
SECONDS = 10.0
_UNSAFE = "SET synchronous_commit = off"
"""What is sent is not kept: nobody needs to wait for the disk."""
_SEND = f"SELECT pg_notify('{CHANNEL}', word) FROM unnest($1::text[]) AS word"


class PostgresWire(Wire):
    """Carries words between all who are connected to one database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def open(self, hear: Callable[[str], None]) -> None:
        def heard(connection: Any, process: int, channel: str, word: object) -> None:
            hear(str(word))

        self._connection = await connect(self._url)
        try:
            await self._connection.execute(_UNSAFE, timeout=SECONDS)
            await self._connection.add_listener(CHANNEL, heard)
        except FAULTS as error:
            raise translate(error) from error

    async def send(self, words: Sequence[str]) -> None:
        if self._connection is None:
            raise StoreUnavailable("The wire is not open.")
        try:
            await self._connection.execute(_SEND, list(words), timeout=SECONDS)
        except FAULTS as error:
            raise translate(error) from error

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Nothing is under way that matters, and a connection that is dead already cannot say goodbye.
            connection.terminate()
