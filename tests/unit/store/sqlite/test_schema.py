"""One schema, later changed by numbered migrations; a file from before the first release is refused as what it is."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from threadkeep.errors import StoreFull, StoreTooOld
from threadkeep.runtime import migrate, open_store, pending_migrations
from threadkeep.store.sqlite import opening, schema
from threadkeep.testing.samples import ADA, new, texts_of

KNOWN = [name for _, name, _ in schema.migrations()]
LATER = (len(KNOWN) + 1, "later.sql", "CREATE TABLE later (text TEXT) STRICT")


async def test_a_file_that_is_current_needs_no_migration(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert await migrate(url) == KNOWN
    assert await migrate(url) == []


async def test_what_a_later_release_changes_is_applied_once_on_open_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'kept.db'}"
    store = await open_store(url)
    name = await new(store, ADA, "hello")
    await store.close()
    known = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*known, LATER])
    for _ in range(2):
        store = await open_store(url)
        assert texts_of(await store.newest(ADA, name)) == ["hello"]
        await store.close()
    assert await migrate(url) == []
    with closing(apsw.Connection(str(tmp_path / "kept.db"))) as file:
        assert list(file.execute("SELECT count(*) FROM later")) == [(0,)]


async def test_a_file_of_an_older_release_is_copied_with_its_log_and_told_before_it_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/t.db")
    name = await new(store, ADA, "hello")
    for file in ("t.db", "t.db-wal", "t.db-mark"):
        shutil.copy(tmp_path / file, tmp_path / file.replace("t", "killed", 1))
    await store.close()
    known = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*known, LATER])
    await (await open_store(f"sqlite:///{tmp_path}/killed.db")).close()
    (copy,) = tmp_path.glob(f"killed.db.version-{len(KNOWN)}-*Z")
    assert f"of an older release. It is brought up to date, and first copied to {copy}." in caplog.text
    assert copy.stat().st_mode & 0o777 == 0o600
    monkeypatch.undo()
    store = await open_store(f"sqlite:///{copy}")
    assert texts_of(await store.newest(ADA, name)) == ["hello"]
    await store.close()


async def test_what_cannot_be_copied_is_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    await (await open_store(url)).close()
    known = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*known, LATER])

    def full(*_: object) -> int:
        raise StoreFull

    monkeypatch.setattr(opening, "_copy", full)
    with pytest.raises(StoreFull):
        await open_store(url)
    assert pending_migrations(url) == ["later.sql"]
    assert not list(tmp_path.glob("*version*"))


async def test_a_file_of_a_development_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(apsw.Connection(str(path))) as old:
        old.execute("CREATE TABLE entry (seq INTEGER)")
        old.pragma("application_id", schema.DEVELOPMENT)
        old.pragma("user_version", 15)
    before = path.read_bytes()
    with pytest.raises(StoreTooOld, match="export it with that version and import it"):
        await open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before
