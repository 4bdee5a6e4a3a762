"""A spool opened together with its database, listed without it, and written into it by hand."""

from pathlib import Path
from typing import TYPE_CHECKING

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import IdSource, new_id
from threadkeep.errors import InvalidValue, StoreUnavailable
from threadkeep.hosting import SpoolSettings
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.caps import Caps
from threadkeep_postgres.opening import store_class
from threadkeep_postgres.spool.spool_file import Copy, SpoolFile, spool_path
from threadkeep_postgres.spool.spooling import SpoolingStore

if TYPE_CHECKING:
    from threadkeep_postgres.store import PostgresStore


async def open_spooling_store(
    url: str,
    spool: SpoolSettings,
    *,
    clock: Clock = utc_now,
    ids: IdSource = new_id,
    max_bytes: int = MAX_BYTES,
    caps: Caps | None = None,
) -> SpoolingStore:
    """Open a database with a spool for outages. The database may be away if this spool was used with it before."""
    postgres = _postgres(url)
    kept = await SpoolFile.open_in(spool.folder, clock, ids, max_bytes)
    opened: list[Store] = [kept]
    away: StoreUnavailable | None = None
    try:
        try:
            opened.append(database := await postgres.open(url, clock, ids, max_bytes))
        except StoreUnavailable as error:
            database, away = postgres.unopened(url, clock, ids, max_bytes, kept.database_secret(error)), error
        else:
            await kept.belong_to(await database.keyring.secret())
        database.caps = caps or Caps()
        database.wait_for(spool.patience)
        store = SpoolingStore(database, kept, clock, ids, spool)
        await store.take_up(away)
        return store
    except BaseException:
        for each in opened:
            await each.close()
        raise


def _postgres(url: str) -> "type[PostgresStore]":
    if not url.startswith(("postgresql:", "postgres:")):
        raise InvalidValue("A spool is for outages of PostgreSQL; other stores are on the disk of this machine anyway.")
    return store_class()


async def list_spool(folder: Path) -> list[Copy]:
    """Return the conversations in a spool that are not yet all in the database; also while the spool is used."""
    if not spool_path(folder).exists():
        raise InvalidValue(f"There is no spool in {folder}.")
    spool = await SpoolFile.looked_at(folder, utc_now, new_id, MAX_BYTES)
    try:
        return [copy for copy in await spool.copies() if copy.is_spooled]
    finally:
        await spool.close()


async def drain_spool(url: str, spool: SpoolSettings) -> int:
    """Write a spool to its database and return how many conversations; StoreUnavailable if the database is away."""
    # Raises at once if the database is away, instead of waiting for it.
    await (await _postgres(url).open(url, utc_now, new_id, MAX_BYTES)).close()
    store = await open_spooling_store(url, spool)
    try:
        return await store.drain()
    finally:
        await store.close()
