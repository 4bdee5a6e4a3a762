"""Looking after an SQLite file: what follows writing while nobody waits for it, and whether the file is well.

Until the log is moved, all that was written lies in a second file that people forget to copy. So it is moved when
nobody writes, and every few minutes if somebody always does.
"""

import asyncio
import os
from contextlib import closing, suppress
from pathlib import Path

import apsw

from threadkeep.background import supervised
from threadkeep.errors import StoreCorrupt, StoreError, StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.schema import ENTRY, checksum
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite.writing import LogWriter
from threadkeep.store.sqlite_file import SqliteDatabase, translating_sqlite_errors

MOVE_IDLE_SECONDS = 2.0
MOVE_SECONDS = 120.0


class Maintenance:
    """Looks after one file. It has a task only while there is something to do."""

    def __init__(self, writer: Writer, log: LogWriter) -> None:
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
            self.note_write()

    def note_write(self) -> None:
        """Start the task if there is none: something was written."""
        self._written = self._loop.time()
        if self._task is None and not self._closed:
            self._task = self._loop.create_task(supervised("looking after the SQLite file", self._work))
            self._task.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
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

    async def _work(self) -> None:
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


CHECK_SECONDS = 2.0
"""Seconds in which a store that is well has answered."""
_SLICE = 500
_BEGINNING = (0, 0, 0)


class HealthCheck:
    """Checks one open file. Each time it reads the next entries from the disk, so that in time all are looked at."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._writer = writer
        self._opened = os.stat(path)
        self._after = _BEGINNING
        self._looking: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Write something that was not there before, and read something."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._writer.run(self._write)
                if self._looking is None or self._looking.done():
                    self._looking = asyncio.ensure_future(asyncio.to_thread(self._look))
                await asyncio.shield(self._looking)
        except TimeoutError:
            raise StoreUnavailable(f"{self._path} does not answer within {CHECK_SECONDS:g} seconds.") from None

    def _write(self) -> None:
        self._writer.connection.execute("UPDATE pulse SET beats = beats + 1")

    def _look(self) -> None:
        with filesystem.translating_os_errors():
            if not os.path.samestat(self._opened, os.stat(self._path)):
                raise StoreUnavailable(f"{self._path} is not the file any more that was opened; restart to use it.")
        with (
            translating_sqlite_errors(),
            closing(SqliteDatabase(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)) as database,
        ):
            rows = database.rows(
                f"SELECT tenant, conversation, {ENTRY}, crc FROM entry "
                "INDEXED BY entry_by_seq WHERE (tenant, conversation, seq) > (?, ?, ?) "
                f"ORDER BY tenant, conversation, seq LIMIT {_SLICE}",
                self._after,
            )
        for row in rows:
            if checksum(*row[:-1]) != row[-1]:
                raise StoreCorrupt(
                    f"Entries in {self._path} are damaged. Put back a copy, or see what can be exported."
                )
        self._after = rows[-1][:3] if len(rows) == _SLICE else _BEGINNING
