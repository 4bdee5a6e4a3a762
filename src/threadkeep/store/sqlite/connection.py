"""Opening an SQLite file, and SQLite's errors in our words."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from threadkeep.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

BUSY_MILLISECONDS = 30_000

_ERRORS: tuple[tuple[type[apsw.Error], type[StoreError]], ...] = (
    (apsw.BusyError, StoreBusy),
    (apsw.LockedError, StoreBusy),
    (apsw.FullError, StoreFull),
    (apsw.ReadOnlyError, StoreReadOnly),
    (apsw.PermissionsError, StoreDenied),
    (apsw.AuthError, StoreDenied),
    (apsw.CorruptError, StoreCorrupt),
    (apsw.NotADBError, StoreCorrupt),
    (apsw.CantOpenError, StoreUnavailable),
    (apsw.IOError, StoreUnavailable),
)


class Database(apsw.Connection):
    """A connection with the three ways in which we read. Rows are plain tuples whose types the schema fixes."""

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """Return all rows."""
        return self.execute(sql, bindings).fetchall()

    def row(self, sql: str, bindings: Sequence[Any] = ()) -> Any:
        """Return the first row, or None."""
        return self.execute(sql, bindings).fetchone()

    def value(self, sql: str, bindings: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.execute(sql, bindings).fetchone()
        return None if row is None else row[0]


def translate(error: apsw.Error) -> StoreError:
    """Return our error for one of SQLite's."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(f"{(ours.__doc__ or '').splitlines()[0]} ({error})")
    return StoreError(f"SQLite refused: {error}")


@contextmanager
def translated() -> Iterator[None]:
    """Let no error of SQLite out untranslated."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error) from error


def connect(path: Path) -> Database:
    """Open the file, create it if it is missing, and make every commit durable."""
    _check_access(path)
    with translated():
        connection = Database(str(path))
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        _switch_to_wal(connection)
        for pragma in (
            "synchronous = full",
            "wal_autocheckpoint = 0",
            "temp_store = memory",
            "cache_size = -32768",
        ):
            connection.pragma(*pragma.split(" = "))
        return connection


def _switch_to_wal(connection: Database) -> None:
    """Switch the journal's mode. Here SQLite does not wait by itself if another process is just doing the same."""
    until = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _check_access(path: Path) -> None:
    """Tell what SQLite reports as "unable to open" more exactly."""
    try:
        path.open("ab").close()
    except PermissionError:
        raise StoreDenied(f"Permission to write {path} was denied.") from None
    except FileNotFoundError:
        raise StoreUnavailable(f"There is no folder {path.parent} to keep {path.name} in.") from None
    except IsADirectoryError:
        raise StoreUnavailable(f"{path} is a folder, not a file.") from None
    except OSError as error:
        known = {28: StoreFull, 30: StoreReadOnly}.get(error.errno or 0, StoreUnavailable)
        raise known(f"{path} cannot be opened: {error.strerror}.") from None
