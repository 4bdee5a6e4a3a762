"""The schema of the SQLite file: numbered migrations, applied on open under the write lock."""

import json
from importlib.resources import files
from typing import Any

from threadkeep.errors import StoreCorrupt, StoreTooNew
from threadkeep.store.sqlite.checksums import register
from threadkeep.store.sqlite.pair import commit
from threadkeep.store.sqlite_file import Database, translating_sqlite_errors
from threadkeep.text.words import words

APPLICATION = 0x7468726B
"""Marks the file as ours ("thrk")."""


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration in order."""
    found = files("threadkeep.store.sqlite").joinpath("migrations").iterdir()
    named = sorted((path.name, path.read_text(encoding="utf-8")) for path in found if path.name.endswith(".sql"))
    return [(int(name[:4]), name, sql) for name, sql in named]


def pending(connection: Database) -> list[str]:
    """Return the names of the migrations that are missing. The file is only looked at."""
    return [name for _, name, _ in _missing(connection, migrations())]


def register_functions(connection: Database) -> None:
    """Give a connection that writes the functions that its statements use."""
    register(connection)
    connection.create_scalar_function("title_words", _title_words, 1, deterministic=True)


def make(connection: Database) -> None:
    """Make all tables in an empty database in memory."""
    register_functions(connection)
    _apply(connection, migrations())


def apply(connection: Database) -> list[str]:
    """Apply what is missing, one starter at a time; refuse a file of a newer release or of another program."""
    known = migrations()
    register_functions(connection)
    with translating_sqlite_errors(connection):
        if connection.pragma("user_version") == known[-1][0] and connection.pragma("application_id") == APPLICATION:
            return []
        connection.execute("BEGIN IMMEDIATE")
        try:
            applied = _apply(connection, known)
            commit(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return applied


def _title_words(*title: Any) -> str:
    """Return the words of a title, which may be null, as JSON, which SQL takes apart."""
    return json.dumps(sorted(words(title[0] or "")))


def _apply(connection: Database, known: list[tuple[int, str, str]]) -> list[str]:
    missing = _missing(connection, known)
    for number, _, sql in missing:
        connection.execute(sql)
        connection.pragma("user_version", number)
    connection.pragma("application_id", APPLICATION)
    return [name for _, name, _ in missing]


def _missing(connection: Database, known: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    version = connection.pragma("user_version")
    application = connection.pragma("application_id")
    tables = connection.value("SELECT count(*) FROM sqlite_schema")
    if application != APPLICATION and (application or version or tables):
        raise StoreCorrupt("This SQLite file belongs to another program.")
    if version > known[-1][0]:
        raise StoreTooNew
    return [(number, name, sql) for number, name, sql in known if number > version]
