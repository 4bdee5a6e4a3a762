"""Whether an SQLite file can be read and written, found out by doing both."""

import asyncio
import os
from contextlib import closing
from pathlib import Path

import apsw

from threadkeep.errors import StoreCorrupt, StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.sqlite.checksums import ENTRY, is_entry
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite_file import Database, translating_sqlite_errors

PATIENCE = 2.0
"""Seconds in which a store that is well has answered."""
_SLICE = 500
_BEGINNING = (0, 0, 0)


class Pulse:
    """The pulse of one open file. Each beat reads the next entries from the disk, so that in time all are looked at."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._writer = writer
        self._opened = os.stat(path)
        self._after = _BEGINNING
        self._looking: asyncio.Future[None] | None = None

    async def beat(self) -> None:
        """Write something that was not there before, and read something."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._writer.run(self._write)
                if self._looking is None or self._looking.done():
                    self._looking = asyncio.ensure_future(asyncio.to_thread(self._look))
                await asyncio.shield(self._looking)
        except TimeoutError:
            raise StoreUnavailable(f"{self._path} does not answer within {PATIENCE:g} seconds.") from None

    def _write(self) -> None:
        self._writer.connection.execute("UPDATE pulse SET beats = beats + 1")

    def _look(self) -> None:
        with filesystem.translating_os_errors():
            if not os.path.samestat(self._opened, os.stat(self._path)):
                raise StoreUnavailable(f"{self._path} is not the file any more that was opened; restart to use it.")
        with (
            translating_sqlite_errors(),
            closing(Database(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)) as database,
        ):
            rows = database.rows(
                f"SELECT {ENTRY}, crc FROM entry INDEXED BY entry_by_seq WHERE (tenant, conversation, seq) > (?, ?, ?) "
                f"ORDER BY tenant, conversation, seq LIMIT {_SLICE}",
                self._after,
            )
        for row in rows:
            if not is_entry(row[0], row[1], row[2:-1], row[-1]):
                raise StoreCorrupt(
                    f"Entries in {self._path} are damaged. Put back a copy, or see what can be exported."
                )
        self._after = rows[-1][:3] if len(rows) == _SLICE else _BEGINNING
