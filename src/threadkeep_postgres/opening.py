"""What the core finds by the scheme `postgresql`. The driver is imported when a database is to be reached."""

from typing import TYPE_CHECKING

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource
from threadkeep.errors import StoreUnavailable

if TYPE_CHECKING:
    from threadkeep_postgres.counts import Tally
    from threadkeep_postgres.store import PostgresStore

NO_DRIVER = "PostgreSQL needs a package: pip install 'threadkeep[postgres]'"


def store_class() -> "type[PostgresStore]":
    """Return the class of the store; `StoreUnavailable` without the driver."""
    try:
        from threadkeep_postgres.store import PostgresStore
    except ImportError:
        raise StoreUnavailable(NO_DRIVER) from None
    return PostgresStore


async def open_postgres(url: str, *, clock: Clock, ids: IdSource, max_bytes: int) -> "PostgresStore":
    """Open the database behind a URL, whose schema must be current."""
    return await store_class().open(url, clock, ids, max_bytes)


async def count_postgres(url: str, tally: "Tally") -> None:
    """Count together with the other servers on a database, for ever."""
    try:
        from threadkeep_postgres.counts import share
    except ImportError:
        raise StoreUnavailable(NO_DRIVER) from None
    await share(url, tally)


async def migrate_postgres(url: str) -> list[str]:
    """Bring the schema of a database up to date and return the names of the migrations that were applied."""
    try:
        from threadkeep_postgres.schema import migrate
    except ImportError:
        raise StoreUnavailable(NO_DRIVER) from None
    return await migrate(url)
