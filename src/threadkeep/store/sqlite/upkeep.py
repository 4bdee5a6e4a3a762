"""What follows writing while nobody waits for it: the search index, and moving the write-ahead log into the file.

Until the log is moved, all that was written lies in a second file that people forget to copy. So it is moved when
nobody writes, and every few minutes if somebody always does.
"""

import asyncio
from contextlib import suppress

from threadkeep.background import supervised
from threadkeep.errors import StoreError
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite.writing import Log
from threadkeep.store.sqlite_file import translating_sqlite_errors

MOVE_IDLE_SECONDS = 2.0
MOVE_SECONDS = 120.0


class Upkeep:
    """Looks after one file. It has a task only while there is something to do."""

    def __init__(self, writer: Writer, log: Log) -> None:
        self._writer = writer
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._written = 0.0
        self._moved = self._loop.time()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def begin(self) -> None:
        """Derive what an earlier process did not come to, at once if it is much: readers would do it each time."""
        with translating_sqlite_errors(self._log.db):
            self._log.added = index.lag(self._log.reader)
        if self._log.added > index.LARGEST_LAG:
            await self.catch_up()
        elif self._log.added:
            self.stir()

    def stir(self) -> None:
        """Hear that something was written."""
        self._written = self._loop.time()
        if self._task is None and not self._closed:
            self._task = self._loop.create_task(supervised("looking after the SQLite file", self._tend))
            self._task.add_done_callback(self._rest)

    def _rest(self, _: asyncio.Task[None]) -> None:
        self._task = None

    async def close(self) -> None:
        """End the task, and let the index follow; if that fails, the next process does it."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._log.added:
            with suppress(StoreError):
                await self.catch_up()

    async def catch_up(self) -> None:
        """Derive everything that is derived from the log."""
        self._log.added = 0
        while await self._writer.run(lambda: index.catch_up(self._log.reader)):
            pass

    async def _tend(self) -> None:
        """Work until everything has followed."""
        checkpoints = self._writer.checkpoints
        while self._log.added or checkpoints.copied < checkpoints.pages:
            now = self._loop.time()
            idle = now - self._written
            if self._log.added:
                if (wait := index.IDLE_SECONDS - idle) <= 0 or self._log.added >= index.LARGEST_LAG:
                    await self.catch_up()
                    continue
            elif (wait := min(MOVE_IDLE_SECONDS - idle, self._moved + MOVE_SECONDS - now)) <= 0:
                self._moved = now
                checkpoints.begin()
                wait = MOVE_IDLE_SECONDS
            await asyncio.sleep(wait)
