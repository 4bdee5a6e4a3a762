"""Connections to an SQLite file: what they keep in memory."""

from contextlib import closing
from pathlib import Path

import apsw

from threadkeep.store.sqlite_file import CACHE_KIB, connect


def test_a_connection_caches_a_part_of_a_large_file_only(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "large.db")) as database:
        database.execute("CREATE TABLE large (data)")
        for _ in range(2 * CACHE_KIB // 1024):
            database.execute("INSERT INTO large VALUES (zeroblob(1048576))")
        assert database.value("SELECT sum(length(hex(data))) FROM large") == 4 * CACHE_KIB * 1024
        used, _ = database.status(apsw.SQLITE_DBSTATUS_CACHE_USED)
        assert used < 1.25 * CACHE_KIB * 1024
