"""Opening an SQLite file, and SQLite's errors in our words."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from threadkeep import errors
from threadkeep.errors import StoreError, StoreUnavailable
from threadkeep.store.filesystem import explain, kind_of

BUSY_MILLISECONDS = 30_000
CACHE_KIB = 8192
"""How much each connection caches of its file. A store has several, and the system caches the file as well."""

_ERRORS: tuple[tuple[type[apsw.Error], type[StoreError]], ...] = (
    (apsw.BusyError, errors.StoreBusy),
    (apsw.LockedError, errors.StoreBusy),
    (apsw.FullError, errors.StoreFull),
    (apsw.ReadOnlyError, errors.StoreReadOnly),
    (apsw.PermissionsError, errors.StoreDenied),
    (apsw.AuthError, errors.StoreDenied),
    (apsw.CorruptError, errors.StoreCorrupt),
    (apsw.NotADBError, errors.StoreCorrupt),
)


class SqliteDatabase(apsw.Connection):
    """A connection with the three ways in which we read. Rows are plain tuples whose types the schema fixes."""

    def __init__(self, filename: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> None:
        super().__init__(filename, flags=flags)
        # Else a statement that a partial index might serve is planned anew for each value: ten times slower.
        self.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        return self.execute(sql, bindings).fetchall()

    def row(self, sql: str, bindings: Sequence[Any] = ()) -> Any:
        return self.execute(sql, bindings).fetchone()

    def value(self, sql: str, bindings: Sequence[Any] = ()) -> Any:
        row = self.execute(sql, bindings).fetchone()
        return None if row is None else row[0]


def to_store_error(error: Exception, database: SqliteDatabase | None = None) -> StoreError:
    """Return our error for one that SQLite raised on a database, or that kept us from using it."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return explain(ours, error)
    # SQLite knows "disk full" alone; what else the system said, such as an exhausted quota, it passes on as a number.
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        return explain(kind_of(database.system_errno if database else None), error)
    if isinstance(error, apsw.Error) and not isinstance(error, apsw.NoMemError):
        return StoreError(f"SQLite refused: {error}")
    return explain(StoreUnavailable, f"{type(error).__name__}: {error}")


@contextmanager
def translating_sqlite_errors(database: SqliteDatabase | None = None) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise to_store_error(error, database) from error


def connect(path: Path, prepare: Callable[[SqliteDatabase], None] = lambda _: None) -> SqliteDatabase:
    """Open the file, create it if it is missing, and make every commit durable. `prepare` comes before any writing."""
    _check_access(path)
    with translating_sqlite_errors():
        connection = SqliteDatabase(str(path))
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        prepare(connection)
        return _make_durable(connection)
    except BaseException:
        connection.close()
        raise


def _make_durable(connection: SqliteDatabase) -> SqliteDatabase:
    with translating_sqlite_errors(connection):
        _switch_to_wal(connection)
        for pragma in (
            "synchronous = full",
            "wal_autocheckpoint = 0",
            "temp_store = memory",
            f"cache_size = -{CACHE_KIB}",
            "secure_delete = on",
        ):
            connection.pragma(*pragma.split(" = "))
        return connection


def _switch_to_wal(connection: SqliteDatabase) -> None:
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
    """Make a file that is missing, for its owner alone, and tell what SQLite reports as "unable to open" more exactly.

    What SQLite puts beside the file gets the same rights.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except FileNotFoundError:
        raise StoreUnavailable(f"There is no folder {path.parent} to keep {path.name} in.") from None
    except IsADirectoryError:
        raise StoreUnavailable(f"{path} is a folder, not a file.") from None
    except OSError as error:
        raise kind_of(error.errno)(f"{path} cannot be opened for writing: {error.strerror}.") from None
