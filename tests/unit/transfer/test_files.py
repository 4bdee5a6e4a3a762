"""Attached files on their way: nobody gets a file of somebody else, and what was changed is refused."""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import FileNotFound, ImportDamaged, StoreCorrupt
from threadkeep.store.attachments import file_id
from threadkeep.testing.attachments import MemoryAttachments
from threadkeep.testing.samples import ADA, BOB
from threadkeep.transfer.files import (
    READ_AT_ONCE,
    FileLine,
    PortableFile,
    copy_files,
    take_files,
    with_files_of,
    with_images,
)

PNG = b"\x89PNG\r\n\x1a\n"
DIGEST = sha256(PNG).hexdigest()
AT = datetime(2026, 1, 1, tzinfo=UTC)


def portable(data: bytes | None) -> PortableFile:
    line = FileLine(id="file-theirs", name="cat.png", media_type="image/png", size=len(PNG), sha256=DIGEST)
    return PortableFile(line, lambda _: None if data is None else iter([data]))


def entry(*parts: Attachment) -> Entry:
    return Entry(conversation="c", seq=1, parent=None, created_at=AT, body=Message(role=Role.USER, parts=parts))


async def test_a_file_that_comes_along_is_kept_under_an_id_of_its_new_owner() -> None:
    files = MemoryAttachments()
    named = await take_files(files, BOB, [portable(PNG)])
    assert named == {"file-theirs": file_id(BOB, DIGEST, "cat.png")}
    assert await files.read(BOB, named["file-theirs"]) == PNG
    with pytest.raises(FileNotFound):
        await files.stored(ADA, named["file-theirs"])


async def test_bytes_that_are_others_than_were_exported_are_refused_and_not_kept() -> None:
    files, changed = MemoryAttachments(), portable(PNG[:-1] + b"x")
    with pytest.raises(ImportDamaged):
        await take_files(files, BOB, [changed])
    assert await files.usage("acme") == (0, 0)
    with pytest.raises(ImportDamaged):
        changed.check()
    portable(PNG).check()


async def test_a_message_that_comes_in_names_no_file_of_anybody_else() -> None:
    theirs = file_id(ADA, DIGEST, "cat.png")
    known = Attachment(type="image", file=theirs, name="cat.png", media_type="image/png", sha256=DIGEST)
    unknown = Attachment(type="image", file=theirs, media_type="image/png")
    queued = TurnChange(state=TurnState.QUEUED, message=Message(role=Role.USER, parts=(known,)))

    async def log() -> AsyncIterator[Entry]:
        for each in (entry(known), entry(unknown), entry(known).model_copy(update={"body": queued})):
            yield each

    first, second, third = [each.body async for each in with_files_of(BOB, log(), {})]
    mine = file_id(BOB, DIGEST, "cat.png")
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert isinstance(third, TurnChange)
    assert third.message is not None
    assert [part.model_dump()["file"] for part in (*first.parts, *third.message.parts)] == [mine, mine]
    assert second.parts[0].model_dump()["file"] not in (theirs, mine)


async def test_copying_leaves_out_what_is_gone_and_may_be_done_again() -> None:
    source, target = MemoryAttachments(), MemoryAttachments()
    kept = await source.save(ADA, "cat.png", "", PNG)
    for _ in range(2):
        await copy_files(source, target, ADA, [kept.file, "file-gone"])
    assert await target.read(ADA, kept.file) == PNG
    assert (await target.usage("acme")).files == 1


def images_of(shown: Entry, uris: Mapping[str, str]) -> str:
    """Write the images of a message as a page does, each as often as it stands there."""
    assert isinstance(shown.body, Message)
    return "".join(
        f"<{uris[part.file]}>" for part in shown.body.parts if isinstance(part, Attachment) and part.file in uris
    )


async def test_only_images_that_are_there_stand_in_a_page_and_little_of_them_is_held() -> None:
    files = MemoryAttachments()
    image, text = await files.save(ADA, "cat.png", "", PNG), await files.save(ADA, "a.txt", "", b"hello")
    large = await files.save(ADA, "dog.png", "", PNG + bytes(2 * READ_AT_ONCE))
    gone = image.model_copy(update={"file": "file-gone"})
    shown = entry(image, large, text, gone, image)
    pieces = [piece async for piece in with_images(files, ADA, shown, images_of)]
    whole = b64encode(PNG + bytes(2 * READ_AT_ONCE)).decode()
    uris = ("iVBORw0KGgo=", whole, "iVBORw0KGgo=")
    assert "".join(pieces) == "".join(f"<data:image/png;base64,{uri}>" for uri in uris)
    assert max(map(len, pieces)) <= READ_AT_ONCE * 4 // 3
    assert [piece async for piece in with_images(None, ADA, shown, images_of)] == []


async def test_an_image_whose_bytes_are_lost_takes_nothing_else_along(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryAttachments()
    image = await files.save(ADA, "cat.png", "", PNG)

    async def lost(*_: object) -> bytes:
        raise StoreCorrupt("A part of the file is missing.")

    monkeypatch.setattr(files, "read", lost)
    pieces = [piece async for piece in with_images(files, ADA, entry(image), images_of)]
    assert "".join(pieces) == "<data:image/png;base64,>"
