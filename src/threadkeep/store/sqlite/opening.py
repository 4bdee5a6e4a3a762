"""Opening the file of the SQLite store, and copying it while it is in use. Nothing is written before file and log are
known to be whole and one pair, and nothing is migrated before there is a copy."""

import logging
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import apsw

from threadkeep.conversation.clock import utc_now
from threadkeep.errors import StoreCorrupt
from threadkeep.store.filesystem import sync_folder, unused_name, write_file
from threadkeep.store.sqlite.pair import check_belonging, forget_note
from threadkeep.store.sqlite.schema import apply, pending
from threadkeep.store.sqlite.wal import check_pair, flush, log_of, size_of
from threadkeep.store.sqlite_file import SqliteDatabase, connect, translating_sqlite_errors

logger = logging.getLogger(__name__)


def open_file(path: Path) -> tuple[SqliteDatabase, list[str]]:
    """Open the file to write it, bring it up to date, and return the names of the migrations that were applied."""
    check_pair(path)
    applied: list[str] = []

    def prepare(connection: SqliteDatabase) -> None:
        if size_of(path):
            _check(path, connection)
        if not size_of(log_of(path)):
            # The mark of a new file must be in it before there is a log.
            applied.extend(_bring_up_to_date(path, connection))

    connection = connect(path, prepare)
    try:
        flush(path)
        applied.extend(_bring_up_to_date(path, connection))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        # Another process that is just copying the log into the file does it for us.
        with translating_sqlite_errors(connection), suppress(apsw.BusyError, apsw.LockedError):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except BaseException:
        connection.close()
        raise
    return connection, applied


def _bring_up_to_date(path: Path, connection: SqliteDatabase) -> list[str]:
    """Apply what is missing, and copy a file as an older release left it, its log included, before it is changed."""
    with translating_sqlite_errors(connection):
        version = connection.pragma("user_version")
        if version and pending(connection):
            copy = unused_name(path, f"version-{version}", utc_now())
            logger.warning("%s is of an older release. It is brought up to date, and first copied to %s.", path, copy)
            write_file(copy, b"")
            try:
                with closing(apsw.Connection(str(copy))) as here:
                    _copy(connection, here, lambda _: None)
                sync_folder(copy.parent)
            except BaseException:
                copy.unlink(missing_ok=True)
                raise
    return apply(connection)


def look_at(path: Path) -> SqliteDatabase:
    """Open the file to read it, as it is."""
    check_pair(path)
    with translating_sqlite_errors():
        # Not read-only: such a connection leaves files of its own behind.
        connection = SqliteDatabase(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        _check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(path: Path) -> list[str]:
    """Bring the file up to date and return the names of the migrations that were applied."""
    connection, applied = open_file(path)
    connection.close()
    return applied


def pending_migrations(path: Path) -> list[str]:
    """Return the names of the migrations that opening the file would apply."""
    with closing(look_at(path)) as connection, translating_sqlite_errors(connection):
        return pending(connection)


def set_log_aside(path: Path) -> str | None:
    """Go on with what is there: move a log away that cannot be used. Return what was done, none if all was well."""
    try:
        look_at(path).close()
        return None
    except StoreCorrupt as error:
        forget_note(path)
        with suppress(StoreCorrupt):
            # What is left of a log that was cut is used.
            look_at(path).close()
            return f"Going on without what is missing: {error}"
        log = log_of(path)
        if not size_of(log):
            raise
        names = (path.with_name(f"{path.name}-log-{number}") for number in count(1))
        aside = next(name for name in names if not name.exists())
        log.rename(aside)
        return f"{log} was moved to {aside}."


def _check(path: Path, connection: SqliteDatabase) -> None:
    """Refuse what SQLite would lose or mix up; closing the connection changes nothing."""
    if size_of(log_of(path)):
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    check_belonging(path, connection)


PAGES = 1024


def back_up(source: Path, target: Path, progress: Callable[[float], None]) -> int:
    """Copy a file that others may write to meanwhile; return how many conversations the copy holds."""
    with translating_sqlite_errors(), closing(look_at(source)) as there, closing(apsw.Connection(str(target))) as here:
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
