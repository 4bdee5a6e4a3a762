"""An upload costs the same, however many files there are; and totals are right in a database that had files before."""

import asyncio
from pathlib import Path

import apsw
import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep.errors import StorageFull
from threadkeep.runtime import open_store
from threadkeep.store.attachments import Attachments, FileLimits
from threadkeep.store.file_tables import FileUsage
from threadkeep.store.sqlite.files import SqliteFiles
from threadkeep.testing.samples import ADA

ROWS_READ = (
    "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables "
    "WHERE relname IN ('file', 'file_blob', 'file_total')"
)

FILLED = (
    "INSERT INTO threadkeep.file_blob (tenant, size, touched_at, chunk, id, sha256) "
    "SELECT DISTINCT b.tenant, 10, now(), 10, 'b' || n, 'c' || n "
    "FROM threadkeep.file_blob b, generate_series(1, 2500) n",
    "INSERT INTO threadkeep.file (tenant, owner, created_at, touched_at, id, name, media_type, blob) "
    "SELECT DISTINCT f.tenant, f.owner, now(), now(), 'f' || n, 'a', 'text/plain', 'b' || n "
    "FROM threadkeep.file f, generate_series(1, 2500) n",
    "ANALYZE threadkeep.file, threadkeep.file_blob",
)


async def _save(url: str, first: int, last: int) -> None:
    store = await open_store(url)
    assert store.files is not None
    files = Attachments(store.files)
    for number in range(first, last):
        await files.save(ADA, "a.txt", "", str(number).encode())
    await store.close()


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}/a.db", "files:///{}"])
async def test_an_upload_takes_as_many_steps_beside_a_thousand_files(url: str, tmp_path: Path) -> None:
    store = await open_store(url.format(tmp_path))
    assert isinstance(store.files, SqliteFiles)
    files, run = Attachments(store.files), store.files._run
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    async def taken(name: str) -> int:
        nonlocal steps
        steps = 0
        await files.save(ADA, name, "", name.encode())
        return steps

    await files.save(ADA, "first", "", b"first")
    for writes in (True, False):
        await run(lambda db: db.set_progress_handler(count, 10), writes=writes)
    few = await taken("few")

    def fill(db: apsw.Connection) -> None:
        for number in range(1000):
            known = (f"b{number:04}", "acme", f"{number:064}", 10, 10, 1)
            db.execute(
                "INSERT INTO file_blob (id, tenant, sha256, size, chunk, touched_at) VALUES (?,?,?,?,?,?)", known
            )
            named = (f"f{number:04}", "acme", "ada", "a", "text/plain", f"b{number:04}", 1, 1)
            db.execute("INSERT INTO file VALUES (?,?,?,?,?,?,?,?)", named)

    await run(fill)
    assert 0 < await taken("many") <= few * 1.2
    assert await files.usage("acme", "ada") == FileUsage(1003, 10_000 + len("firstfewmany"))
    await store.close()


async def test_an_upload_reads_as_many_rows_beside_more_files(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    admin = postgres_server.as_admin(postgres_database)

    async def read(first: int, last: int) -> int:
        before = postgres_server.fetch(ROWS_READ, admin)[0][0]
        await _save(postgres_database.server, first, last)
        return int(postgres_server.fetch(ROWS_READ, admin)[0][0]) - int(before)

    few = await read(0, 5)
    for filling in FILLED:
        postgres_server.execute(filling, admin)
    assert 0 < await read(5, 10) <= few * 1.2


@pytest.mark.parametrize("limits", [{"user": 500}, {"tenant": 500}, {"user": 500, "file": 100}], ids=str)
async def test_of_twenty_uploads_at_once_as_many_are_kept_as_fit(
    limits: dict[str, int], tmp_path: Path, postgres_database: Urls
) -> None:
    for url in ("memory:", f"sqlite:///{tmp_path}/a.db", f"files:///{tmp_path}/folder", postgres_database.server):
        store = await open_store(url)
        assert store.files is not None
        files = Attachments(store.files, limits=FileLimits(**{"user": 0, **limits}))
        uploads = (files.save(ADA, f"{number}.txt", "", bytes([65 + number]) * 100) for number in range(20))
        kept = await asyncio.gather(*uploads, return_exceptions=True)
        assert [type(each) for each in kept if isinstance(each, BaseException)] == [StorageFull] * 15, (url, kept)
        assert await files.usage("acme") == await files.usage("acme", "ada") == FileUsage(5, 500)
        assert await store.files.dropped("acme", 1) == []
        await store.close()
