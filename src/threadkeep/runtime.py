"""Settings in, wired objects out: the only file that names concrete backends. Drivers are imported when they are used."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import IdSource, new_id
from threadkeep.errors import InvalidStoreUrl
from threadkeep.store.base import MAX_BYTES, Store


async def open_store(url: str, *, clock: Clock = utc_now, ids: IdSource = new_id, max_bytes: int = MAX_BYTES) -> Store:
    """Open the store behind a URL. An embedded one is created and migrated as needed; PostgreSQL must be migrated."""
    match _scheme(url):
        case "memory":
            from threadkeep.store.memory import MemoryStore

            return MemoryStore(clock, ids, max_bytes)
        case "sqlite":
            from threadkeep.store.sqlite.store import SqliteStore

            return await SqliteStore.open(_path(url), clock, ids, max_bytes)
        case "files":
            from threadkeep.store.files.store import FilesStore

            return await FilesStore.open(_path(url), clock, ids, max_bytes)
        case "postgresql":
            from threadkeep.store.postgres.store import PostgresStore

            return await PostgresStore.open(url, clock, ids, max_bytes)
        case _:
            raise InvalidStoreUrl


async def migrate(url: str) -> list[str]:
    """Bring the schema of a store up to date and return the names of the migrations that were applied."""
    match _scheme(url):
        case "postgresql":
            from threadkeep.store.postgres.schema import migrate as migrate_postgres

            return await migrate_postgres(url)
        case "sqlite":
            from threadkeep.store.sqlite.schema import migrate as migrate_sqlite

            return migrate_sqlite(_path(url))
        case "files" | "memory":
            return []
        case _:
            raise InvalidStoreUrl


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0]
    return {"postgres": "postgresql"}.get(scheme, scheme)


def _path(url: str) -> Path:
    """Return the path of an embedded store: three slashes are a relative path, four an absolute one."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if parts.netloc or not path or "\x00" in path:
        raise InvalidStoreUrl
    return Path(path)
