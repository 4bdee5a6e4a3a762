"""The clock of a database, in the hands of a test: what `threadkeep.moment()` answers follows a `FakeClock`."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from importlib import import_module
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_STOPPED = """
CREATE TABLE IF NOT EXISTS threadkeep.test_clock (now timestamptz);
GRANT SELECT ON threadkeep.test_clock TO PUBLIC;
DELETE FROM threadkeep.test_clock;
INSERT INTO threadkeep.test_clock VALUES (now())
"""
_LED = """
CREATE OR REPLACE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql
AS 'SELECT now FROM threadkeep.test_clock'
"""
_FREE = """
CREATE OR REPLACE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()'
"""
_IS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL"
_EVERYWHERE = "SELECT bool_and(success) FROM run_command_on_all_nodes($1)"


class DatabaseClock:
    """Sets the time of a database. It keeps a connection in a thread, because tests let time pass very often.

    Each machine of a Citus has a clock of its own: no query on a shard may look at a table that all of them share.
    """

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        # The driver is an extra, without which the unit suite is collected all the same.
        self._connection = self._run(import_module("asyncpg").connect(url))
        self._is_citus = self._run(self._connection.fetchval(_IS_CITUS))
        for statement in _STOPPED.split(";"):
            self._everywhere(statement)
        self._run(self._connection.execute(_LED))

    def __call__(self, now: datetime) -> None:
        self._everywhere(f"UPDATE threadkeep.test_clock SET now = '{now.isoformat()}'")

    def close(self) -> None:
        self._run(self._connection.execute(_FREE))
        self._run(self._connection.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _everywhere(self, statement: str) -> None:
        if self._is_citus:
            assert self._run(self._connection.fetchval(_EVERYWHERE, statement)), statement
        else:
            self._run(self._connection.execute(statement))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
