"""The clock of a database, in the hands of a test: what `threadkeep.moment()` answers follows a `FakeClock`."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from threading import Thread
from typing import Any, TypeVar

import asyncpg

T = TypeVar("T")

_STOPPED = """
CREATE TABLE IF NOT EXISTS threadkeep.test_clock (now timestamptz);
GRANT SELECT ON threadkeep.test_clock TO PUBLIC;
DELETE FROM threadkeep.test_clock;
INSERT INTO threadkeep.test_clock VALUES (now());
CREATE OR REPLACE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql
AS 'SELECT now FROM threadkeep.test_clock'
"""


class DatabaseClock:
    """Sets the time of a database. It keeps a connection in a thread, because tests let time pass very often."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection = self._run(asyncpg.connect(url))
        self._run(self._connection.execute(_STOPPED))

    def __call__(self, now: datetime) -> None:
        self._run(self._connection.execute("UPDATE threadkeep.test_clock SET now = $1", now))

    def close(self) -> None:
        self._run(self._connection.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
