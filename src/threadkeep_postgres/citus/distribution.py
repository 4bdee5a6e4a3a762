"""Tables and functions distributed by tenant, by Citus."""

from importlib.resources import files
from typing import Any

import asyncpg

from threadkeep.errors import StoreDenied

STEPS = ("citus/shared.sql", "citus/tables.sql", "citus/functions.sql")
"""What migrating says that it applied."""
_ALTERS_ROLES = "must be superuser to alter superuser roles"
_UNKNOWN_ROLES = (
    "Citus does not know the roles of this database, and only an administrator may tell it: "
    "see “Citus” in docs/howto/scale.md."
)
_IS_THERE = "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL"
_SETTINGS = "SELECT current_setting('wal_level') = 'logical', current_setting('max_prepared_transactions')::integer > 0"


def _sql(name: str) -> str:
    return files("threadkeep_postgres").joinpath("citus", f"{name}.sql").read_text(encoding="utf-8")


async def _machines(connection: "asyncpg.Connection[Any]") -> list[asyncpg.Record] | None:
    """Return the machines that Citus knows; null if it is not there."""
    return await connection.fetch(_sql("machines")) if await connection.fetchval(_IS_THERE) else None


async def is_to_distribute(connection: "asyncpg.Connection[Any]") -> bool:
    """Whether there are machines, and something that is not distributed over them."""
    workers = [machine for machine in await _machines(connection) or () if machine["is_worker"]]
    return bool(workers and await connection.fetch(_sql("missing")))


async def prepare(connection: "asyncpg.Connection[Any]") -> None:
    """Let this transaction change what is distributed and distribute what is new. Nothing but Citus heeds it."""
    await connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")


async def distribute(connection: "asyncpg.Connection[Any]", step: str) -> str:
    """Distribute what is not yet. What was made in the same transaction can be distributed in it; of what was
    there before each step needs one of its own."""
    await connection.execute(files("threadkeep_postgres").joinpath(step).read_text(encoding="utf-8"))
    return step


def to_denied(error: BaseException) -> StoreDenied | None:
    """Return what to do where Citus refuses to make a role on its machines."""
    return StoreDenied(_UNKNOWN_ROLES) if _ALTERS_ROLES in str(error) else None


async def shortcomings(connection: "asyncpg.Connection[Any]") -> list[str]:
    """Return what is not as it should be."""
    machines = await _machines(connection)
    if machines is None:
        return []
    if not any(machine["is_worker"] for machine in machines):
        return ["Citus knows no workers: SELECT citus_add_node('name', 5432) for each, then run threadkeep migrate"]
    found = [
        f"the machine {machine['name']} is not active in Citus: see citus_activate_node and citus_remove_node"
        for machine in machines
        if not machine["is_active"]
    ]
    if missing := [row["name"] for row in await connection.fetch(_sql("missing"))]:
        found.append(
            f"{len(missing)} tables and functions are not distributed by tenant ({missing[0]}): run threadkeep migrate"
        )
    is_logical, prepares = await connection.fetchrow(_SETTINGS)  # type: ignore[misc]
    if not is_logical:
        found.append("wal_level is not logical: while Citus moves a tenant, nobody can write to it")
    if not prepares:
        found.append("max_prepared_transactions is 0: Citus cannot commit on several machines")
    return found
