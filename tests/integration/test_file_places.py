"""The suite of attachments where their bytes are elsewhere: in a folder, in an object store."""

import os
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore

from tests.integration.serving import assert_problem, serving
from threadkeep.errors import StoreDenied, StoreUnavailable
from threadkeep.store.attachments import FolderChunks
from threadkeep.store.file_tables import CHUNK, Chunks
from threadkeep.testing.attachments import MemoryAttachments
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.attachments import TestAttachments as Suite
from threadkeep.testing.samples import ADA
from threadkeep_integrations.object_store import ObjectChunks


@pytest.fixture
def backend() -> str:
    return "memory"


class TestInAFolder(Suite):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "files"

    def chunks(self, before: Chunks) -> Chunks | None:
        return FolderChunks(self.folder, before, CHUNK)


class TestInAnObjectStore(Suite):
    @pytest.fixture(autouse=True)
    def place(self) -> None:
        self.objects = MemoryStore()

    def chunks(self, before: Chunks) -> Chunks | None:
        return ObjectChunks(obstore, self.objects, before, CHUNK)


async def test_what_the_store_has_from_before_is_read_and_nothing_is_left_of_what_goes(
    tmp_path: Path, clock: FakeClock
) -> None:
    files = MemoryAttachments(clock=clock)
    old = await files.save(ADA, "old.txt", "", b"from before")
    for place in (FolderChunks(tmp_path, files._tables), ObjectChunks(obstore, LocalStore(tmp_path), files._tables)):
        files._chunks = place
        new = await files.save(ADA, "new.txt", "", b"from now on")
        assert await files.read(ADA, new.file) == b"from now on"
        assert await files.read(ADA, old.file) == b"from before"
        assert any(path.read_bytes() == b"from now on" for path in tmp_path.rglob("*") if path.is_file())
        await files.delete(ADA, new.file)
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    await files.delete(ADA, old.file)
    assert await files.usage("acme") == (0, 0)


@pytest.mark.server_may_fail
async def test_a_server_keeps_files_where_it_is_told_to(tmp_path: Path) -> None:
    async with serving(files=f"file://{tmp_path}/files") as server:
        made = (await server.client.post("/v1/files?name=a.txt", content=b"hello")).json()
        assert (await server.client.get(f"/v1/files/{made['id']}")).content == b"hello"
        (kept,) = (path for path in (tmp_path / "files").rglob("*") if path.is_file())
        assert kept.read_bytes() == b"hello"
        os.unlink(kept)
        gone = await server.client.head(f"/v1/files/{made['id']}")
        assert gone.status_code == 200
        assert_problem(await server.client.get(f"/v1/files/{made['id']}"), 503, "store_corrupt")


async def test_a_place_that_fails_is_told_in_our_words(tmp_path: Path) -> None:
    class Failing:
        exceptions = obstore.exceptions

        def __init__(self, error: Exception) -> None:
            self._error = error

        def put(self, *_: object, **__: object) -> None:
            raise self._error

        get = list = put

    tables = MemoryAttachments()._tables
    for theirs, ours in (
        (obstore.exceptions.PermissionDeniedError("no"), StoreDenied),
        (obstore.exceptions.GenericError("no"), StoreUnavailable),
        (ConnectionError(), StoreUnavailable),
    ):
        place = ObjectChunks(Failing(theirs), None, tables)  # type: ignore[arg-type]
        for verb in (place.put("acme", "b", 0, b"x"), place.get("acme", "b", 0), place.remove("acme", "b")):
            with pytest.raises(ours):
                await verb
    (tmp_path / "acme").write_bytes(b"in the way")
    with pytest.raises(StoreUnavailable):
        await FolderChunks(tmp_path, tables).put("acme", "b", 0, b"x")
