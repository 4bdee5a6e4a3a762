"""PostgreSQL on a disk that fills up: `python -m tests.integration.full_postgres`, in a mount namespace of its own.

Only the tables lie on the small disk, in a tablespace, so that the server itself survives.
"""

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

from tests.integration.bad_disk import fill_and_free, mount
from tests.postgres_server import OWNER, PostgresServer


async def full() -> None:
    """What does not fit is refused and leaves nothing; when there is room again, the same handle goes on."""
    with PostgresServer.start() as server:
        (data,) = (Path(path) for (path,) in server.fetch("SHOW data_directory"))
        small = _small_disk(data)
        server.execute(f"CREATE TABLESPACE small LOCATION '{small / 'tables'}'")
        server.execute(f"GRANT CREATE ON TABLESPACE small TO {OWNER}")
        urls = server.fresh_database()
        server.execute(f"ALTER DATABASE {urlsplit(urls.owner).path[1:]} SET TABLESPACE small")
        await fill_and_free(urls.server, small / "ballast")


def _small_disk(data: Path) -> Path:
    """Mount a small disk where the user that PostgreSQL runs as may go and write."""
    owner = data.stat()
    small = data.parent / "small"
    small.mkdir()
    mount(small, "size=24m,mode=0777")
    (small / "tables").mkdir(mode=0o700)
    os.chown(small / "tables", owner.st_uid, owner.st_gid)
    (small / "ballast").write_bytes(b"x" * 4_000_000)
    return small


if __name__ == "__main__":
    asyncio.run(full())
