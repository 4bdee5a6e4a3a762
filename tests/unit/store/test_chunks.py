"""Bytes of files in a folder: written whole, read back, and what was in the database before is still found."""

import shutil
from pathlib import Path

import pytest

from threadkeep.errors import InvalidValue, UploadMismatch
from threadkeep.store import filesystem
from threadkeep.store.chunks import FolderChunks, open_chunks
from threadkeep.testing.attachments import MemoryAttachments


@pytest.mark.parametrize("url", ["file:///", "file://host/folder", "nonsense://x", "s3:", "nothing"])
def test_what_is_no_place_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue):
        open_chunks(url, MemoryAttachments()._tables)


async def test_a_chunk_is_a_file_of_its_tenant_and_blob_and_leaves_no_draft(tmp_path: Path) -> None:
    chunks = FolderChunks(tmp_path, MemoryAttachments()._tables)
    await chunks.put("acme", "blob", 0, b"first")
    await chunks.put("acme", "blob", 0, b"again")
    assert await chunks.get("acme", "blob", 0) == b"again"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "acme" / "blob" / "0"]


async def test_what_is_removed_is_gone_and_may_be_removed_again(tmp_path: Path) -> None:
    chunks = FolderChunks(tmp_path, MemoryAttachments()._tables)
    await chunks.put("acme", "blob", 0, b"first")
    await chunks.put("acme", "other", 0, b"kept")
    for _ in range(2):
        await chunks.remove("acme", "blob")
        assert await chunks.get("acme", "blob", 0) is None
    assert await chunks.get("acme", "other", 0) == b"kept"


async def test_what_is_given_up_while_a_chunk_is_written_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = FolderChunks(tmp_path, MemoryAttachments()._tables)

    def removed_meanwhile(path: Path, data: bytes) -> None:
        shutil.rmtree(path.parent)
        path.write_bytes(data)

    monkeypatch.setattr(filesystem, "write_file", removed_meanwhile)
    with pytest.raises(UploadMismatch):
        await chunks.put("acme", "blob", 0, b"first")
    assert await chunks.get("acme", "blob", 0) is None


def test_a_folder_may_have_signs_that_urls_write_in_another_way(tmp_path: Path) -> None:
    place = open_chunks(f"file://{tmp_path}/my%20files", MemoryAttachments()._tables)
    assert isinstance(place, FolderChunks)
    assert place._folder == tmp_path / "my files"
