"""What a release has stored, every later one opens: stores that releases wrote, kept in `tests/data/stores`."""

import gzip
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.data.make_stores import FOLDER, LONG, look
from tests.postgres_server import PostgresServer
from threadkeep.runtime import migrate, open_store

RELEASES = sorted(path.name for path in FOLDER.iterdir())
KNOWN: dict[str, Any] = {
    "title": ("Rain in Oslo", True, {"kind": "test"}, True),
    "texts": ["hello", "", "Rain", "It rains.", "And Bergen?", "Rain, too."],
    "branches": 2,
    "blocks": ["narrative"],
    "state": {"city": "Oslo"},
    "ratings": ["up"],
    "turns": ["running", "queued"],
    "draft": "Half an ans",
    "listed": ["cut", "other", "talk"],
    "of eve": ["talk-of-eve"],
    "long": [len(LONG)],
    "found": ["talk"],
    "file": ("note.txt", 13),
    "breaks": (),
    "holds": ["conversation:talk"],
    "key": True,
    "restored": "gone",
}


def _put(release: str, kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Put a store of a release where it can be opened and return its URL, and the owner's where one migrates first."""
    kept = FOLDER / release
    if kind == "sqlite":
        (folder / "threadkeep.db").write_bytes(gzip.decompress((kept / "threadkeep.db.gz").read_bytes()))
        return f"sqlite:///{folder}/threadkeep.db"
    if kind == "files":
        with tarfile.open(kept / "conversations.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        return f"files:///{folder}/conversations"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    urls = server.fresh_database(migrated=False)
    server.execute(gzip.decompress((kept / "postgresql.sql.gz").read_bytes()).decode(), urls.owner)
    return f"{urls.server} {urls.owner}"


@pytest.mark.parametrize("kind", ["sqlite", "files", "postgresql"])
@pytest.mark.parametrize("release", RELEASES)
async def test_a_store_of_a_release_opens(
    release: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, _, owner = _put(release, kind, tmp_path, request).partition(" ")
    if owner:
        await migrate(owner)
    store = await open_store(url)
    told = await look(store)
    await store.close()
    (called,) = told.pop("calls")
    assert [(call.id, call.name, call.args) for call in called] == [("call-1", "weather", {"city": "Oslo"})]
    assert told == KNOWN


def test_every_release_that_stores_are_kept_of_has_all_three() -> None:
    assert RELEASES
    for release in RELEASES:
        names = {path.name for path in (FOLDER / release).iterdir()}
        assert names == {"threadkeep.db.gz", "conversations.tar.gz", "postgresql.sql.gz"}
