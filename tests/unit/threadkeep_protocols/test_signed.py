"""Signed addresses: what they are good for, how long, and for whom."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import FileNotFound
from threadkeep.runtime import open_conversations
from threadkeep.server.list_cursors import ListCursors
from threadkeep_protocols.files import kept_file
from threadkeep_protocols.signed import SIGNED, SignedFiles

ADA, BOB = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
SOON = timedelta(minutes=1)


@pytest.fixture
async def conversations() -> AsyncIterator[Conversations]:
    """An empty store."""
    async with await open_conversations("memory:", model="demo") as opened:
        yield opened


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    """Yield bytes as a request brings them."""
    for piece in given:
        yield piece


async def test_an_upload_is_sent_once_shown_and_kept_by_each_message_that_refers_to_it(
    conversations: Conversations,
) -> None:
    signed = SignedFiles(conversations)
    id = await signed.begin(ADA, "notes.txt")
    await signed.take(await signed.token("put", id, ADA, SOON), pieces(b"some ", b"notes"))
    shown = await signed.token("upload", id, ADA, SOON)
    file, told = await signed.shown(shown)
    assert (b"".join([piece async for piece in told]), file.size, file.name) == (b"some notes", 10, "notes.txt")
    kept = [await kept_file(conversations, ADA, f"https://x.example{SIGNED}{shown}") for _ in range(2)]
    assert kept[0] == kept[1]
    again, _ = await signed.shown(await signed.token("file", kept[0].file, ADA, SOON))
    assert again.id == kept[0].file


@pytest.mark.parametrize("lasts", [timedelta(seconds=-1), timedelta(0)])
async def test_an_address_that_has_expired_is_no_address(conversations: Conversations, lasts: timedelta) -> None:
    signed = SignedFiles(conversations)
    id = await signed.begin(ADA, "")
    with pytest.raises(FileNotFound, match="expired"):
        await signed.take(await signed.token("put", id, ADA, lasts), pieces(b"late"))


async def test_an_address_is_good_for_one_thing_and_one_user(conversations: Conversations) -> None:
    signed = SignedFiles(conversations)
    id = await signed.begin(ADA, "")
    put = await signed.token("put", id, ADA, SOON)
    shown = await signed.token("upload", id, ADA, SOON)
    with pytest.raises(FileNotFound):
        await signed.shown(put)
    with pytest.raises(FileNotFound):
        await signed.take(shown, pieces(b"hers"))
    with pytest.raises(FileNotFound):
        await signed.kept(shown, BOB)
    cursor = await ListCursors(conversations.admin.keyring).shown("others")
    for wrong in ("", "x" * 5000, "%%%", str(cursor), shown[:-1] + ("A" if shown[-1] != "A" else "B")):
        with pytest.raises(FileNotFound):
            await signed.read(wrong)
