"""PostgreSQL on a disk that fills up: `python -m tests.integration.full_postgres`, in a mount namespace of its own.

Only the tables lie on the small disk, in a tablespace, so that the server itself survives.
"""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.integration.bad_disk import fill_and_free, mount
from tests.postgres_server import OWNER, PostgresServer, Urls


async def full() -> None:
    """What does not fit is refused and leaves nothing; when there is room again, the same handle goes on."""
    with PostgresServer.start() as server, small_disk(server, "24m") as disk:
        urls = server.fresh_database()
        put_tables_on(disk, server, urls)
        (disk / "ballast").write_bytes(b"x" * 4_000_000)
        await fill_and_free(urls.server, disk / "ballast")


@contextmanager
def small_disk(server: PostgresServer, size: str) -> Iterator[Path]:
    """Mount a small disk for a while where the user that PostgreSQL runs as may go and write."""
    ((data,),) = server.fetch("SHOW data_directory")
    folder = Path(data).parent / "small"
    folder.mkdir()
    mount(folder, f"size={size},mode=0777")
    try:
        yield folder
    finally:
        # The server still uses it; it is gone when that has ended.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def put_tables_on(disk: Path, server: PostgresServer, urls: Urls) -> None:
    """Have a database that nobody uses yet keep its tables on a disk."""
    ((data,),) = server.fetch("SHOW data_directory")
    (disk / "tables").mkdir(mode=0o700)
    os.chown(disk / "tables", Path(data).stat().st_uid, Path(data).stat().st_gid)
    server.execute(f"CREATE TABLESPACE small LOCATION '{disk / 'tables'}'")
    server.execute(f"GRANT CREATE ON TABLESPACE small TO {OWNER}")
    server.execute(f"ALTER DATABASE {urlsplit(urls.owner).path[1:]} SET TABLESPACE small")


if __name__ == "__main__":
    asyncio.run(full())
