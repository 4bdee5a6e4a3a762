"""The schema in PostgreSQL: migrations of tables, functions that are made anew when they change, both applied by an
owner, and the check that a server makes on open."""

import asyncio
import logging
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import asyncpg

from threadkeep.errors import StoreBusy, StoreNotMigrated, StoreTooNew, StoreUnavailable
from threadkeep.store.postgres.address import CONNECT_SECONDS, Address
from threadkeep.store.postgres.faults import FAULTS, is_transient, translate
from threadkeep.store.postgres.jsonb import restore
from threadkeep.store.postgres.pool import ATTEMPTS, CALL_SECONDS
from threadkeep.text.words import words

logger = logging.getLogger(__name__)

TITLES = "0022_titles.sql"
_FOLDER = files("threadkeep.store.postgres")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration in order."""
    found = _FOLDER.joinpath("migrations").iterdir()
    named = sorted((path.name, path.read_text(encoding="utf-8")) for path in found if path.name.endswith(".sql"))
    return [(int(name[:4]), name, sql) for name, sql in named]


def _functions() -> str:
    """Return the SQL of all functions."""
    found = sorted(_FOLDER.joinpath("functions").iterdir(), key=lambda path: path.name)
    return "\n".join([*(path.read_text(encoding="utf-8") for path in found), _sql("grant_functions")])


def _sql(name: str) -> str:
    return _FOLDER.joinpath(f"{name}.sql").read_text(encoding="utf-8")


async def migrate(url: str) -> list[str]:
    """Apply what is missing and return its names. Several may try at once: each migration is applied once."""
    connection = await Address(url).direct().connect()
    try:
        for _ in range(ATTEMPTS):
            try:
                return await _migrate(connection)
            except FAULTS as error:
                if not is_transient(error):
                    raise translate(error) from error
        raise StoreBusy
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _migrate(connection: "asyncpg.Connection[Any]") -> list[str]:
    """Apply missing migrations and make the functions anew if they have changed, all in one transaction."""
    known, functions = migrations(), _functions()
    digest = blake2b(functions.encode(), digest_size=16).hexdigest()
    async with connection.transaction():
        await connection.execute(_sql("prepare"))
        newest = await connection.fetchval("SELECT coalesce(max(number), 0) FROM threadkeep.migration")
        if newest > known[-1][0]:
            raise StoreTooNew
        missing = [(number, name, sql) for number, name, sql in known if number > newest]
        if not missing and await connection.fetchval("SELECT digest FROM threadkeep.definition") == digest:
            return []
        await connection.execute(_sql("drop_functions"))
        for number, name, sql in missing:
            await connection.execute(sql)
            await connection.execute("INSERT INTO threadkeep.migration (number, name) VALUES ($1, $2)", number, name)
        await connection.execute(functions)
        if TITLES in (name for _, name, _ in missing):
            await _index_titles(connection)
        await connection.execute("DELETE FROM threadkeep.definition")
        await connection.execute("INSERT INTO threadkeep.definition VALUES ($1)", digest)
    return [name for _, name, _ in missing]


async def _index_titles(connection: "asyncpg.Connection[Any]") -> None:
    """Index the words of titles that were given before there was an index of them."""
    for (tenant,) in await connection.fetch("SELECT key FROM threadkeep.tenant"):
        await connection.execute("SELECT set_config('threadkeep.tenant', $1, true)", str(tenant))
        rows = await connection.fetch(
            "SELECT key, owner, title FROM threadkeep.conversation WHERE tenant = $1 AND title IS NOT NULL", tenant
        )
        await connection.executemany(
            "INSERT INTO threadkeep.title_word (conversation, tenant, owner, word) VALUES ($1, $2, $3, $4)",
            [(key, tenant, owner, word) for key, owner, title in rows for word in words(restore(title))],
        )


async def check(url: str) -> None:
    """Raise unless the schema is the one that this release works with; warn if row-level security cannot help."""
    connection = await Address(url).connect()
    try:
        async with asyncio.timeout(CALL_SECONDS):
            found = await connection.fetchrow(_sql("check"))
    except FAULTS as error:
        raise translate(error) from error
    finally:
        await connection.close(timeout=CONNECT_SECONDS)
    current = migrations()[-1][0]
    if found is None or found["newest"] is None or found["newest"] < current:
        raise StoreNotMigrated
    if found["newest"] > current:
        raise StoreTooNew
    if found["synchronous_commit"] == "off":
        # Behind a pooler that does not pass on what a connection is to begin with.
        raise StoreUnavailable(
            "The database acknowledges what it has not stored yet: "
            f"ALTER ROLE {found['role']} SET synchronous_commit = on."
        )
    if found["is_privileged"]:
        logger.warning(
            "the database role %s is a superuser, bypasses row-level security or owns the schema: "
            "let the server connect as an ordinary role that was granted threadkeep_server",
            found["role"],
        )
