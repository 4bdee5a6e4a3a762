"""PostgreSQL on a disk that fills up: `python -m tests.integration.full_postgres refused` or `spooled`, in a mount
namespace of its own.

Only the tables lie on the small disk, in a tablespace, so that the server itself survives.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from tests.integration.bad_disk import fill_and_free, mount
from tests.integration.serving import PATIENCE, Server, serving
from tests.postgres_server import OWNER, PostgresServer, Urls


async def refused() -> None:
    """What does not fit is refused and leaves nothing; when there is room again, the same handle goes on."""
    with PostgresServer.start() as server, small_disk(server, "24m") as disk:
        urls = server.fresh_database()
        put_tables_on(disk, server, urls)
        (disk / "ballast").write_bytes(b"x" * 4_000_000)
        await fill_and_free(urls.server, disk / "ballast")


async def spooled() -> None:
    """With a spool everything is taken; when there is room again, it goes into the database without a restart."""
    with PostgresServer.start(durable=False) as server, small_disk(server, "64m") as disk:
        urls = server.fresh_database()
        put_tables_on(disk, server, urls)
        with TemporaryDirectory() as spool:
            async with serving(urls.server, spool_dir=spool) as instance:
                path = await instance.conversation()
                sent = [await _taken(instance, path, "before")]
                with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
                    while True:
                        ballast.write(bytes(4096))
                while "spooled" not in (await instance.client.get("/health/ready")).json():
                    sent.append(await _taken(instance, path, f"{len(sent)}"))
                (disk / "ballast").unlink()
                async with asyncio.timeout(PATIENCE):
                    while (await instance.client.get("/health/ready")).json() != {"status": "ok"}:  # noqa: ASYNC110 - no event
                        await asyncio.sleep(0.05)
        async with serving(urls.server) as other:
            messages = (await other.client.get(path)).json()["messages"]
            assert [message["content"] for message in messages if message["role"] == "user"] == sent


async def _taken(instance: Server, path: str, word: str) -> str:
    """Send many words that are found in no other message, and return them."""
    text = " ".join(f"{word}x{number}" for number in range(3000))
    answer = await instance.say(path, text)
    assert answer.status_code == 200, answer.text
    return text


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
    asyncio.run({"refused": refused, "spooled": spooled}[sys.argv[1]]())
