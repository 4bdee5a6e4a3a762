"""A copy of an SQLite file that is in use: one consistent moment, in one file, checked after it was written."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from threadkeep.errors import StoreCorrupt
from threadkeep.store.sqlite.opening import look_at
from threadkeep.store.sqlite_file import translating_sqlite_errors

PAGES = 1024


def back_up(source: Path, target: Path, progress: Callable[[float], None]) -> int:
    """Copy a file that others may write to meanwhile; return how many conversations the copy holds."""
    with (
        translating_sqlite_errors(),
        closing(look_at(source)) as there,
        closing(apsw.Connection(str(target))) as here,
    ):
        return _copy(there, here, progress)


def _copy(there: apsw.Connection, here: apsw.Connection, progress: Callable[[float], None]) -> int:
    there.set_busy_timeout(10_000)
    with here.backup("main", there, "main") as backup:
        while not backup.done:
            backup.step(PAGES)
            progress(1 - backup.remaining / max(backup.page_count, 1))
    here.execute("PRAGMA journal_mode = DELETE")
    found = [row[0] for row in here.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise StoreCorrupt(f"The copy is damaged: {found[0]}.")
    return int(here.execute("SELECT count(*) FROM conversation WHERE id IS NOT NULL").get)
