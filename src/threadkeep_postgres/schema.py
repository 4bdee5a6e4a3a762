"""The schema in PostgreSQL: what `schema.sql` makes and the numbered migrations of later releases change, functions
that are made anew when they change, all applied by an owner, and the check that a server makes on open."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import asyncpg

from threadkeep.errors import StoreBusy, StoreNotMigrated, StoreTooNew, StoreTooOld, StoreUnavailable
from threadkeep_postgres.address import CONNECT_SECONDS, Address
from threadkeep_postgres.citus import distribution
from threadkeep_postgres.faults import FAULTS, is_transient, translate
from threadkeep_postgres.pool import ATTEMPTS, CALL_SECONDS

logger = logging.getLogger("threadkeep.store.postgres.schema")

_FOLDER = files("threadkeep_postgres")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration in order; the first makes the tables."""
    later = _FOLDER.joinpath("migrations")
    found = sorted(later.iterdir(), key=lambda file: file.name) if later.is_dir() else []
    named = [(file.name, file.read_text(encoding="utf-8")) for file in [_FOLDER.joinpath("schema.sql"), *found]]
    return [(number, name, sql) for number, (name, sql) in enumerate(named, 1)]


def _functions() -> str:
    """Return the SQL of all functions."""
    found = sorted(_FOLDER.joinpath("functions").iterdir(), key=lambda path: path.name)
    return "\n".join([*(path.read_text(encoding="utf-8") for path in found), _sql("grants")])


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
                    raise distribution.to_denied(error) or translate(error) from error
        raise StoreBusy
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _migrate(connection: "asyncpg.Connection[Any]") -> list[str]:
    """Apply missing migrations and make the functions anew if they have changed, all in one transaction. What Citus has
    distributed stays so; a database that goes from one machine to several is distributed after that."""
    known, functions = migrations(), _functions()
    digest = blake2b(functions.encode(), digest_size=16).hexdigest()
    async with _changing(connection):
        await connection.execute(_sql("prepare"))
        applied = await connection.fetch("SELECT name FROM threadkeep.migration ORDER BY number")
        _check_names([name for (name,) in applied], known)
        is_behind = bool(applied) and await distribution.is_to_distribute(connection)
        missing = known[len(applied) :]
        if missing or await connection.fetchval("SELECT digest FROM threadkeep.definition") != digest:
            await connection.execute(_sql("drop_functions"))
            for number, name, sql in missing:
                # Citus takes some changes only as statements of their own, which PL/pgSQL makes of them.
                await connection.execute(f"DO $migration$ BEGIN {sql} END $migration$" if applied else sql)
                await connection.execute(
                    "INSERT INTO threadkeep.migration (number, name) VALUES ($1, $2)", number, name
                )
            await connection.execute(functions)
            await connection.execute("DELETE FROM threadkeep.definition")
            await connection.execute("INSERT INTO threadkeep.definition VALUES ($1)", digest)
        done = [name for _, name, _ in missing]
        if not is_behind and await distribution.is_to_distribute(connection):
            done += [await distribution.distribute(connection, step) for step in distribution.STEPS]
    for step in distribution.STEPS if is_behind else ():
        async with _changing(connection):
            await connection.execute("LOCK TABLE threadkeep.migration IN EXCLUSIVE MODE")
            done.append(await distribution.distribute(connection, step))
    if is_behind:
        await connection.execute(_sql("grants"))
    return done


@asynccontextmanager
async def _changing(connection: "asyncpg.Connection[Any]") -> AsyncIterator[None]:
    """Change the schema in a transaction, wherever its tables are."""
    async with connection.transaction():
        await distribution.prepare(connection)
        yield


def _check_names(applied: Sequence[str], known: Sequence[tuple[int, str, str]]) -> None:
    """Refuse a database of a newer release, and one from before the first."""
    if applied and applied[0] != known[0][1]:
        raise StoreTooOld
    if len(applied) > len(known):
        raise StoreTooNew


async def check(url: str) -> None:
    """Raise unless the schema is the one that this release works with; warn if row-level security cannot help."""
    connection = await Address(url).connect()
    try:
        async with asyncio.timeout(CALL_SECONDS):
            found = await connection.fetchrow(_sql("check"))
            shortcomings = await distribution.shortcomings(connection)
    except FAULTS as error:
        raise translate(error) from error
    finally:
        await connection.close(timeout=CONNECT_SECONDS)
    known, applied = migrations(), found["applied"] if found else None
    _check_names(applied or [], known)
    if found is None or len(applied or ()) < len(known):
        raise StoreNotMigrated
    if found["synchronous_commit"] == "off":
        # Behind a pooler that does not pass on what a connection is to begin with.
        raise StoreUnavailable(
            "The database acknowledges what it has not stored yet: "
            f"ALTER ROLE {found['role']} SET synchronous_commit = on."
        )
    for shortcoming in shortcomings:
        logger.warning("%s", shortcoming)
    if found["is_privileged"]:
        logger.warning(
            "the database role %s is a superuser, bypasses row-level security or owns the schema: "
            "let the server connect as an ordinary role that was granted threadkeep_server",
            found["role"],
        )
