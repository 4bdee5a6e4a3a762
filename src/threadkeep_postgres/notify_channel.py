"""A notify channel over PostgreSQL: NOTIFY and LISTEN on a connection of its own.

Words are not sent within the transactions that they tell of: a transaction that notifies commits under a lock of the
whole server, so that writers wait for each other's disk (measured with 32 of them: less than half of the commits).
Through PgBouncer in transaction mode nothing is heard: the URL should say where the database is `direct`. Else readers
look into the log by themselves, as they do whenever words are lost.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from threadkeep.errors import StoreUnavailable
from threadkeep.store.changes import NotifyChannel
from threadkeep_postgres.address import Address
from threadkeep_postgres.faults import FAULTS, translate
from threadkeep_postgres.pool import CALL_SECONDS

CHANNEL = "threadkeep"
# What is sent is not kept, so nobody waits for the disk; but a pooler gives the session to others, who must.
_SEND = (
    "SELECT pg_notify($2, word) "
    "FROM unnest($1::text[]) AS word, set_config('synchronous_commit', 'off', true) AS this_transaction_only"
)


class PostgresNotifyChannel(NotifyChannel):
    """Carries words between all who are connected to one database."""

    def __init__(self, address: Address, name: str = CHANNEL) -> None:
        self._address = address
        self._name = name
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def open(self, hear: Callable[[str], None]) -> None:
        def heard(connection: Any, process: int, channel: str, word: object) -> None:
            hear(str(word))

        self._connection = await self._address.connect()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._connection.add_listener(self._name, heard)
        except FAULTS as error:
            raise translate(error) from error

    async def send(self, words: Sequence[str]) -> None:
        if self._connection is None:
            raise StoreUnavailable("The notify channel is not open.")
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._connection.fetch(_SEND, list(words), self._name)
        except FAULTS as error:
            raise translate(error) from error

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Nothing is under way that matters, and a connection that is dead already cannot say goodbye.
            connection.terminate()
