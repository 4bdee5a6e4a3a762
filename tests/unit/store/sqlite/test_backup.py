"""A copy of a file that is in use is whole, and stands alone."""

from pathlib import Path

import pytest

from threadkeep.errors import StoreCorrupt
from threadkeep.runtime import open_store
from threadkeep.store.sqlite.backup import back_up
from threadkeep.testing.samples import ADA, new


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
