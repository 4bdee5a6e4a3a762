"""Opening the file of the SQLite store: what is new is set up once, and what is well is left alone."""

from contextlib import closing
from pathlib import Path

import pytest

from threadkeep.errors import StoreCorrupt
from threadkeep.runtime import open_store
from threadkeep.store.sqlite.opening import back_up, look_at, migrate, open_file, pending_migrations, set_log_aside
from threadkeep.testing.samples import ADA, new


def test_a_new_file_gets_every_migration_once(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    assert migrate(path) != []
    assert migrate(path) == []
    assert pending_migrations(path) == []


def test_a_file_that_is_only_looked_at_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    migrate(path)
    before = path.read_bytes()
    with closing(look_at(path)) as connection:
        assert connection.execute("SELECT count(*) FROM conversation").get == 0
    assert path.read_bytes() == before


def test_a_log_that_is_well_is_not_set_aside(tmp_path: Path) -> None:
    connection, _ = open_file(tmp_path / "t.db")
    with closing(connection):
        assert set_log_aside(tmp_path / "t.db") is None


def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"no database " * 1000)
    for opens in (open_file, look_at, migrate, set_log_aside):
        with pytest.raises(StoreCorrupt):
            opens(path)
    assert path.read_bytes() == b"no database " * 1000


async def test_a_copy_holds_what_was_committed_when_it_was_made(tmp_path: Path) -> None:
    store, told = await open_store(f"sqlite:///{tmp_path}/t.db"), list[float]()
    kept = [await new(store, ADA, "one", "two") for _ in range(3)]
    assert back_up(tmp_path / "t.db", tmp_path / "copy.db", told.append) == 3
    await new(store, ADA, "later")
    await store.close()
    assert told[-1] == 1.0
    copy = await open_store(f"sqlite:///{tmp_path}/copy.db")
    assert {found.id for found in (await copy.list(ADA)).items} == set(kept)
    await copy.close()
    assert not (tmp_path / "copy.db-journal").exists()


def test_what_is_no_database_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"no database " * 1000)
    with pytest.raises(StoreCorrupt):
        back_up(tmp_path / "t.db", tmp_path / "copy.db", lambda _: None)
