"""The schema in PostgreSQL: numbered migrations, applied by an owner, and the check that a server makes on open."""

import logging
from importlib.resources import files
from typing import Any

import asyncpg

from threadkeep.errors import StoreNotMigrated, StoreTooNew
from threadkeep.store.postgres.faults import FAULTS, translate
from threadkeep.store.postgres.pool import CONNECT_SECONDS, connect, split_url

logger = logging.getLogger(__name__)

_FOLDER = files("threadkeep.store.postgres")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration in order."""
    found = _FOLDER.joinpath("migrations").iterdir()
    named = sorted((path.name, path.read_text(encoding="utf-8")) for path in found if path.name.endswith(".sql"))
    return [(int(name[:4]), name, sql) for name, sql in named]


async def migrate(url: str) -> list[str]:
    """Apply what is missing and return its names. Several may try at once: each migration is applied once."""
    connection = await connect(split_url(url)[0])
    try:
        return [name for number, name, sql in migrations() if await _apply(connection, number, name, sql)]
    except FAULTS as error:
        raise translate(error) from error
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _apply(connection: "asyncpg.Connection[Any]", number: int, name: str, sql: str) -> bool:
    async with connection.transaction():
        await connection.execute(_FOLDER.joinpath("prepare.sql").read_text(encoding="utf-8"))
        newest = await connection.fetchval("SELECT coalesce(max(number), 0) FROM threadkeep.migration")
        if newest > migrations()[-1][0]:
            raise StoreTooNew
        if newest >= number:
            return False
        await connection.execute(sql)
        await connection.execute("INSERT INTO threadkeep.migration (number, name) VALUES ($1, $2)", number, name)
        return True


async def check(url: str) -> None:
    """Raise unless the schema is the one that this release works with; warn if row-level security cannot help."""
    connection = await connect(split_url(url)[0])
    try:
        found = await connection.fetchrow(_FOLDER.joinpath("check.sql").read_text(encoding="utf-8"))
    except FAULTS as error:
        raise translate(error) from error
    finally:
        await connection.close(timeout=CONNECT_SECONDS)
    current = migrations()[-1][0]
    if found is None or found["newest"] is None or found["newest"] < current:
        raise StoreNotMigrated
    if found["newest"] > current:
        raise StoreTooNew
    if found["is_privileged"]:
        logger.warning(
            "the database role %s is a superuser, bypasses row-level security or owns the schema: "
            "let the server connect as an ordinary role that was granted threadkeep_server",
            found["role"],
        )
