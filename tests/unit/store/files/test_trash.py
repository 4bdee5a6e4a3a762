"""The trash of a folder: what a crash leaves behind is put right by the next purge, and views return as they were."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import AlreadyExists, ConversationNotFound
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.files.store import FilesStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import MINUTE, NO_TIME, key, new, say, texts_of
from threadkeep.testing.stores import everything


@pytest_asyncio.fixture
async def files(tmp_path: Path, clock: FakeClock) -> AsyncIterator[FilesStore]:
    store = await FilesStore.open(tmp_path, clock, new_id, MAX_BYTES)
    yield store
    await store.close()


def _trashed(folder: Path) -> Path:
    """Return the one conversation in the trash."""
    (trashed,) = (folder / ".threadkeep" / "deleted").iterdir()
    return trashed


async def _with_files_beside(files: FilesStore, folder: Path) -> dict[str, bytes]:
    """Make a conversation "c" that has a file of each kind, and return them all."""
    await new(files, LOCAL, "hello", name="c")
    await files.write_views()
    (folder / ".threadkeep" / "c.journal.torn-20250101T120000Z").write_bytes(b"torn")
    (folder / ".threadkeep" / "c.json.imported-20250101T120000Z").write_bytes(b"imported")
    (folder / "c.json.corrupt-20250101T120000Z-2").write_bytes(b"corrupt")
    return _files(folder)


OF_THE_TENANT = ("lock", "api-keys.lock", "secret", "audit.log")


def _files(folder: Path) -> dict[str, bytes]:
    """Return the files that belong to conversations."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name not in OF_THE_TENANT)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if not path.name.endswith(".new")}


async def test_a_restored_conversation_has_the_same_files(files: FilesStore, tmp_path: Path) -> None:
    before = await _with_files_beside(files, tmp_path)
    await files.delete(LOCAL, "c")
    assert all(name.startswith(".threadkeep/deleted/") for name in _files(tmp_path))
    await files.restore(LOCAL, "c")
    assert _files(tmp_path) == before


async def test_a_deletion_that_was_cut_off_did_not_take_place(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    before, seen = await _with_files_beside(files, tmp_path), await everything(files, LOCAL)
    await files.delete(LOCAL, "c")
    (_trashed(tmp_path) / "c.journal").rename(tmp_path / ".threadkeep" / "c.journal")
    assert await everything(files, LOCAL) == seen
    with pytest.raises(ConversationNotFound):
        await files.restore(LOCAL, "c")
    assert await files.purge(MINUTE) == 0
    assert _files(tmp_path) == before


async def test_a_restoring_that_was_cut_off_took_place_even_if_it_was_deleted_again(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await _with_files_beside(files, tmp_path)
    await files.delete(LOCAL, "c")
    (_trashed(tmp_path) / "c.journal").rename(tmp_path / ".threadkeep" / "c.journal")
    await say(files, "c", "more", scope=LOCAL)
    await files.delete(LOCAL, "c")
    assert await files.purge(MINUTE) == 0
    await files.restore(LOCAL, "c")
    assert texts_of(await files.newest(LOCAL, "c")) == ["hello", "more"]
    assert list((tmp_path / ".threadkeep" / "deleted").iterdir()) == []


async def test_a_purge_that_was_cut_off_is_finished_by_the_next(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await _with_files_beside(files, tmp_path)
    await files.delete(LOCAL, "c")
    for path in _trashed(tmp_path).iterdir():
        if path.name != "c.journal":
            path.unlink()
    assert await files.purge(NO_TIME) == 1
    (tmp_path / ".threadkeep" / "deleted" / "00000009-0000000000000000-c").mkdir()
    assert await files.purge(NO_TIME) == 0
    assert _files(tmp_path) == {}


async def test_a_file_that_another_program_wrote_meanwhile_is_not_written_over(
    files: FilesStore, tmp_path: Path
) -> None:
    await new(files, LOCAL, "old", name="c")
    await files.delete(LOCAL, "c")
    (tmp_path / "c.json").write_text('{"messages": [{"role": "user", "content": "theirs"}]}')
    with pytest.raises(AlreadyExists):
        await files.restore(LOCAL, "c")
    assert texts_of(await files.newest(LOCAL, "c")) == ["theirs"]


async def test_a_name_that_only_looks_like_a_file_beside_stays(files: FilesStore, tmp_path: Path) -> None:
    neighbour = "c.journal.torn-20250101T120000Z"
    await new(files, LOCAL, "gone", name="c")
    await new(files, LOCAL, "stays", name=neighbour)
    await files.delete(LOCAL, "c")
    assert texts_of(await files.newest(LOCAL, neighbour)) == ["stays"]


async def test_what_is_in_the_trash_is_no_conversation_of_anybody_who_opens_the_folder(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await files.create(LOCAL, NewConversation(id="c"), key=key("k"))
    await files.delete(LOCAL, "c")
    other = await FilesStore.open(tmp_path, clock, new_id, MAX_BYTES)
    assert await everything(other, LOCAL) == await everything(files, LOCAL)
    assert not (await other.create(LOCAL, NewConversation(id="d"), key=key("k"))).replayed
    await other.close()
