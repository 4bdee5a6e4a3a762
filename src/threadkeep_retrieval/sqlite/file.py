"""Opening the file of an index: ours, of this release, and made with the same embeddings."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Literal

import apsw

from threadkeep.errors import PackageMissing, StoreBusy, StoreError
from threadkeep.store.sqlite_file import BUSY_MILLISECONDS, SqliteDatabase, connect, to_store_error
from threadkeep_retrieval.errors import IndexUnusable, WrongEmbeddings

APPLICATION = 0x74686B69
"""Marks the file as an index of ours ("thki")."""
VERSION = 1


@contextmanager
def translating_sqlite_errors() -> Iterator[None]:
    """Let no error of SQLite and none of a store out: this is an index."""
    try:
        yield
    except apsw.NotADBError as error:
        raise IndexUnusable("The file is no index of documents; it was left as it is.") from error
    except apsw.Error as error:
        raise IndexUnusable(f"The index cannot be used: {to_store_error(error)}") from error
    except StoreError as error:
        raise IndexUnusable(f"The index cannot be used: {error}") from error


@contextmanager
def transaction(database: SqliteDatabase, kind: Literal["DEFERRED", "IMMEDIATE"] = "IMMEDIATE") -> Iterator[None]:
    """Write everything or nothing; other processes wait until it is done. Deferred, it only reads, one state of all."""
    database.execute(f"BEGIN {kind}")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def open_file(path: Path | None, embeddings: str) -> SqliteDatabase:
    """Open the file, or memory without a path; create what is missing. `embeddings` names what makes the vectors."""
    with translating_sqlite_errors():
        if path is not None:
            made_with(path)
        database = SqliteDatabase(":memory:") if path is None else _connected(path)
        try:
            _load_vectors(database)
            database.pragma("wal_autocheckpoint", 1000)
            _create(database, path, embeddings)
            _check(database, path, embeddings)
        except BaseException:
            database.close()
            raise
        return database


def made_with(path: Path) -> str | None:
    """Return the name of the embeddings of an index, None if there is none; refuse the file of another program.

    Nothing about the file is changed, which opening it would do.
    """
    if not path.is_file() or not path.stat().st_size:
        return None
    with translating_sqlite_errors(), closing(SqliteDatabase(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as database:
        database.set_busy_timeout(BUSY_MILLISECONDS)
        name: str | None = database.value("SELECT name FROM embedding") if _check_owner(database, path) else None
        return name


def _check_owner(database: SqliteDatabase, path: Path | None) -> bool:
    """Return whether the tables are there."""
    tables = database.value("SELECT count(*) FROM sqlite_schema")  # first: whoever makes them marks the file with them
    application = database.pragma("application_id")
    if application != APPLICATION and (application or tables):
        raise IndexUnusable(f"{path} is no index of documents: it belongs to another program.")
    return bool(application)


def _connected(path: Path) -> SqliteDatabase:
    """Open the file. SQLite does not wait when two make a new file at the same moment, so we do."""
    until = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            return connect(path)
        except StoreBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def _load_vectors(database: SqliteDatabase) -> None:
    try:
        import sqlite_vec  # noqa: PLC0415 - an optional package
    except ImportError:
        raise PackageMissing("An index needs a package: pip install 'threadkeep[retrieval]'") from None
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.enable_load_extension(False)


def _create(database: SqliteDatabase, path: Path | None, embeddings: str) -> None:
    """Create the tables in a new file, one starter at a time."""
    if _check_owner(database, path):
        return
    with transaction(database):
        if not _check_owner(database, path):
            database.execute(files("threadkeep_retrieval.sqlite").joinpath("schema.sql").read_text(encoding="utf-8"))
            database.execute("INSERT INTO embedding VALUES (?, 0)", (embeddings,))
            database.pragma("user_version", VERSION)
            database.pragma("application_id", APPLICATION)


def _check(database: SqliteDatabase, path: Path | None, embeddings: str) -> None:
    if database.pragma("user_version") > VERSION:
        raise IndexUnusable(f"{path} was written by a newer release of Threadkeep; upgrade Threadkeep to open it.")
    made_with = database.value("SELECT name FROM embedding")
    if made_with != embeddings:
        raise WrongEmbeddings(
            f"The index was made with the embeddings {made_with}, not with {embeddings}: "
            "open it with those, or index the documents anew in another file."
        )
