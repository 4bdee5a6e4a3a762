"""One schema, later changed by numbered migrations; a file from before the first release is refused as what it is."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from threadkeep.errors import StoreTooOld
from threadkeep.runtime import migrate, open_store
from threadkeep.store.sqlite import schema
from threadkeep.testing.samples import ADA, new, texts_of

LATER = (2, "0002_notes.sql", "CREATE TABLE note (text TEXT) STRICT")


async def test_a_file_that_is_current_needs_no_migration(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert await migrate(url) == ["schema.sql"]
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
        assert list(file.execute("SELECT count(*) FROM note")) == [(0,)]


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
