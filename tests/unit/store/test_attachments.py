"""Files by their ids: whose they are, how large they may be, and when nobody needs them any more."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep.errors import EmptyFile, FileNotFound, FileTooLarge, InvalidValue, StorageFull, UploadMismatch
from threadkeep.store import filesystem
from threadkeep.store.attachments import UNUSED_FOR, FileLimits, FolderChunks, file_id, open_chunks
from threadkeep.testing.attachments import MemoryAttachments
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE

SECOND = timedelta(seconds=1).total_seconds()


def test_the_id_of_a_file_follows_from_owner_content_and_name() -> None:
    ids = {file_id(scope, digest, name) for scope in (ADA, BOB, EVE) for digest in ("d1", "d2") for name in ("a", "b")}
    assert len(ids) == 12
    assert file_id(ADA, "d1", "a") in ids


async def test_the_same_file_saved_twice_is_one_and_is_missing_for_others() -> None:
    files = MemoryAttachments()
    first, second = [await files.save(ADA, "a.txt", "", b"hello") for _ in range(2)]
    assert first == second
    assert await files.usage("acme") == (1, 5)
    for scope, id in ((BOB, first.file), (EVE, first.file), (ADA, "../up")):
        with pytest.raises(FileNotFound):
            await files.find(scope, id)


async def test_a_part_of_a_file_is_read_across_its_chunks() -> None:
    files = MemoryAttachments()
    data = bytes(range(256)) * 3000
    kept = await files.save(ADA, "a.bin", "", data)
    assert await files.read(ADA, kept.file) == data
    assert await files.read(ADA, kept.file, 262_140, 262_150) == data[262_140:262_150]
    assert await files.read(ADA, kept.file, len(data)) == b""


async def test_what_is_empty_or_too_much_is_refused_and_leaves_nothing() -> None:
    files = MemoryAttachments(FileLimits(file=10, user=15))
    await files.save(ADA, "a.txt", "", b"x" * 10)
    for data, error in ((b"", EmptyFile), (b"y" * 11, FileTooLarge), (b"y" * 6, StorageFull)):
        with pytest.raises(error):
            await files.save(ADA, "b.txt", "", data)
    assert await files.usage("acme") == (1, 10)


async def test_a_file_that_nobody_uses_goes_after_a_while_unless_it_is_used_again(clock: FakeClock) -> None:
    files = MemoryAttachments(clock=clock)
    gone, kept = [await files.save(ADA, name, "", name.encode()) for name in ("gone.txt", "kept.txt")]
    clock.advance(UNUSED_FOR.total_seconds() - SECOND)
    await files.find(ADA, kept.file)
    clock.advance(2 * SECOND)
    assert await files.remove_unused("acme") == 1
    assert await files.read(ADA, kept.file) == b"kept.txt"
    with pytest.raises(FileNotFound):
        await files.read(ADA, gone.file)


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
