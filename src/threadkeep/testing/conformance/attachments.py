"""Attachments: files that are stored once, read in parts, uploaded in pieces, and gone with the last who uses them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import Scope
from threadkeep.errors import (
    EmptyFile,
    FileInUse,
    FileNotFound,
    FileTooLarge,
    InvalidPart,
    StorageFull,
    UploadMismatch,
    UploadNotFound,
)
from threadkeep.store.attachments import UNUSED_FOR, Attachments, FileLimits
from threadkeep.store.base import Store
from threadkeep.store.file_tables import CHUNK, Chunks, FileUsage
from threadkeep.store.values import Append, Begin
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, asked, new, run
from threadkeep.testing.stores import OpenAnother

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
LARGE = bytes(range(251)) * (3 * CHUNK // 251)
NOTHING = FileUsage(0, 0)
LONGER = UNUSED_FOR.total_seconds() + 1


async def _in_pieces(data: bytes, size: int = 100_000, fails: bool = False) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
    if fails:
        raise ConnectionError


def _message(file: Attachment) -> Message:
    return asked("Look.").model_copy(update={"parts": (file,)})


async def _send(store: Store, conversation: str, file: Attachment, scope: Scope = ADA) -> None:
    await store.append(scope, conversation, Append(bodies=(_message(file),)))


@pytest.mark.asyncio
class TestAttachments:
    def chunks(self, before: Chunks) -> Chunks | None:
        """Return another place for the bytes than the store, for a suite of its own."""
        return None

    def _files(self, store: Store, clock: FakeClock, **limits: int) -> Attachments:
        assert store.files is not None
        return Attachments(store.files, clock, limits=FileLimits(**limits), chunks=self.chunks(store.files))

    async def test_a_file_is_read_as_it_was_saved_and_as_what_it_is(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        saved = await self._files(store, clock).save(ADA, "cat.gif", "image/gif", PNG)
        assert (saved.type, saved.name, saved.media_type, saved.size) == ("image", "cat.gif", "image/png", len(PNG))
        other = await open_another()
        try:
            files = self._files(other, clock)
            assert await files.find(ADA, saved.file) == saved
            assert await files.read(ADA, saved.file) == PNG
        finally:
            await other.close()

    async def test_a_large_file_is_read_in_parts(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        file, is_new = await files.receive(ADA, "large", "", _in_pieces(LARGE))
        assert is_new
        for start, end in ((0, None), (0, 10), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (5, 10**12), (7, 7)):
            assert await files.read(ADA, file.id, start, end) == LARGE[start:end]

    async def test_the_same_again_is_the_same_and_the_same_content_is_stored_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        files = self._files(store, clock)
        one = await files.receive(ADA, "a.png", "", _in_pieces(PNG))
        again = await files.receive(ADA, "a.png", "", _in_pieces(PNG))
        other = await files.receive(ADA, "b.png", "", _in_pieces(PNG))
        bobs = await files.receive(BOB, "a.png", "", _in_pieces(PNG))
        assert (one[0].id, one[1], again[1]) == (again[0].id, True, False)
        assert len({one[0].id, other[0].id, bobs[0].id}) == 3
        assert len({file.blob for file, _ in (one, again, other, bobs)}) == 1
        assert await files.usage("acme") == FileUsage(3, len(PNG))
        assert await files.usage("acme", "ada") == FileUsage(2, 2 * len(PNG))

    async def test_two_who_upload_the_same_at_once_share_it(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        done = await asyncio.gather(*(files.receive(who, "a", "", _in_pieces(PNG)) for who in (ADA, BOB, ADA, BOB)))
        assert len({file.blob for file, _ in done}) == 1
        assert await files.usage("acme") == FileUsage(2, len(PNG))

    async def test_content_that_is_removed_while_another_uploads_it_stays(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        for _ in range(5):
            saved = await files.save(ADA, "a.png", "", PNG)
            _, (other, _) = await asyncio.gather(
                files.delete(ADA, saved.file), files.receive(BOB, "b.png", "", _in_pieces(PNG, 500))
            )
            assert await files.read(BOB, other.id) == PNG
            _, again = await asyncio.gather(files.delete(BOB, other.id), files.save(ADA, "c.png", "", PNG))
            assert await files.read(ADA, again.file) == PNG
        assert await files.usage("acme") == FileUsage(1, len(PNG))

    async def test_files_of_others_are_missing(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        saved = await files.save(ADA, "a.png", "", PNG)
        upload = await files.begin(ADA, "b.png")
        for other in (BOB, EVE):
            for verb in (files.find, files.read, files.delete):
                with pytest.raises(FileNotFound):
                    await verb(other, saved.file)
            for refused in (files.upload, files.complete, files.give_up):
                with pytest.raises(UploadNotFound):
                    await refused(other, upload.id)
            with pytest.raises(UploadNotFound):
                await files.append(other, upload.id, 0, _in_pieces(PNG))
        for odd in ("nothing", "", "../x", "a" * 200, "\0"):
            with pytest.raises(FileNotFound):
                await files.stored(ADA, odd)

    async def test_an_upload_goes_on_where_it_was_cut_off(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        upload = await files.begin(ADA, "large.bin")
        with pytest.raises(ConnectionError):
            await files.append(ADA, upload.id, 0, _in_pieces(LARGE[: CHUNK + 5], fails=True))
        assert (await files.upload(ADA, upload.id)).size == CHUNK + 5
        for wrong in (0, CHUNK, CHUNK + 6):
            with pytest.raises(UploadMismatch):
                await files.append(ADA, upload.id, wrong, _in_pieces(LARGE))
        await files.append(ADA, upload.id, CHUNK + 5, _in_pieces(LARGE[CHUNK + 5 :]))
        whole, direct = (
            await files.complete(ADA, upload.id),
            await files.receive(ADA, "large.bin", "", _in_pieces(LARGE)),
        )
        assert (whole[0].id, whole[1], direct[1]) == (direct[0].id, True, False)
        assert await files.read(ADA, whole[0].id) == LARGE
        with pytest.raises(UploadNotFound):
            await files.upload(ADA, upload.id)

    async def test_what_is_cut_off_given_up_or_refused_leaves_nothing(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock, file=2 * CHUNK)
        upload = await files.begin(ADA, "a")
        await files.append(ADA, upload.id, 0, _in_pieces(PNG))
        await files.give_up(ADA, upload.id)
        refused: tuple[tuple[type[Exception], bytes, bool, str], ...] = (
            (ConnectionError, LARGE[:CHUNK], True, "a"),
            (FileTooLarge, LARGE, False, "a"),
            (EmptyFile, b"", False, "a"),
            (InvalidPart, PNG, False, "../a"),
            (InvalidPart, PNG, False, "a\0"),
            (InvalidPart, PNG, False, "a\u202egnp.exe"),
            (InvalidPart, PNG, False, "a" * 10_000),
        )
        for error, data, fails, name in refused:
            with pytest.raises(error):
                await files.receive(ADA, name, "", _in_pieces(data, fails=fails))
        assert await files.usage("acme") == NOTHING == await files.usage("acme", "ada")

    async def test_users_and_tenants_have_limits(self, store: Store, clock: FakeClock) -> None:
        await self._files(store, clock, user=len(PNG), tenant=len(PNG)).save(ADA, "a.png", "", PNG)
        for limits in ({"user": len(PNG) + 1}, {"tenant": len(PNG) + 1}):
            files = self._files(store, clock, **limits)
            with pytest.raises(StorageFull):
                await files.save(ADA, "b.txt", "", b"other")
            with pytest.raises(StorageFull):
                await files.receive(ADA, "b.txt", "", _in_pieces(b"other"))
            assert await files.usage("acme", "ada") == FileUsage(1, len(PNG))
        assert (await self._files(store, clock, user=len(PNG) + 1).save(BOB, "b.txt", "", b"other")).size == 5

    async def test_what_is_there_is_uploaded_again_where_no_more_fits(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock, file=len(PNG), user=len(PNG), tenant=len(PNG))
        saved = await files.save(ADA, "a.png", "", PNG)
        assert await files.save(ADA, "a.png", "", PNG) == saved
        upload = await files.begin(ADA, "a.png", size=len(PNG))
        await files.append(ADA, upload.id, 0, _in_pieces(PNG))
        more = await files.begin(ADA, "b.png")
        # What is on its way counts.
        with pytest.raises(StorageFull):
            await files.append(ADA, more.id, 0, _in_pieces(b"x"))
        assert (await files.complete(ADA, upload.id))[0].id == saved.file
        assert await files.usage("acme", "ada") == FileUsage(1, len(PNG))

    async def test_totals_are_what_files_add_up_to_whatever_happens_at_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        files = self._files(store, clock)

        async def work(who: Scope, number: int) -> None:
            name, data = f"{number % 3}", bytes([65 + number % 4]) * (number % 5 + 1)
            saved = await files.save(who, name, "", data)
            upload = await files.begin(who, name)
            await files.append(who, upload.id, 0, _in_pieces(data, 2))
            if number % 2:
                await files.give_up(who, upload.id)
            if number % 3 == 0:
                await files.delete(who, saved.file)
            if number == 7:
                await files.erase(who)

        for number in range(0, 12, 4):
            works = (work(who, number + each) for who in (ADA, BOB, EVE) for each in range(4))
            done = await asyncio.gather(*works, return_exceptions=True)
            # Somebody else may have been faster to remove it.
            assert all(isinstance(error, FileNotFound | UploadNotFound | UploadMismatch | None) for error in done), done
        clock.advance(LONGER / 2)
        last = await files.save(ADA, "last", "", PNG)
        clock.advance(LONGER / 2)
        for tenant in await files.tenants():
            await files.remove_unused(tenant)
        assert [file.id async for file in files.files("acme")] == [last.file]
        for tenant in ("acme", EVE.tenant):
            left = [file async for file in files.files(tenant)]
            blobs = {file.blob: file.size for file in left}
            assert await files.usage(tenant) == FileUsage(len(left), sum(blobs.values()))
            for user in ("ada", "bob", "eve"):
                sizes = [file.size for file in left if file.user == user]
                assert await files.usage(tenant, user) == FileUsage(len(sizes), sum(sizes))

    async def test_a_file_that_a_message_uses_stays_and_others_go_after_a_day(
        self, store: Store, clock: FakeClock
    ) -> None:
        files = self._files(store, clock)
        await new(store, name="c")
        used, unused = await files.save(ADA, "a.png", "", PNG), await files.save(ADA, "b.bin", "", LARGE)
        upload = await files.begin(ADA, "c")
        await files.append(ADA, upload.id, 0, _in_pieces(PNG))
        await _send(store, "c", used)
        with pytest.raises(FileInUse):
            await files.delete(ADA, used.file)
        assert await files.remove_unused(ADA.tenant) == 0
        clock.advance(LONGER)
        recent = await files.save(ADA, "d.txt", "", b"recent")
        assert await files.remove_unused(ADA.tenant) == 1
        assert await files.read(ADA, used.file) == PNG
        assert [file.id async for file in files.files("acme")] == sorted([used.file, recent.file])
        for gone in (unused.file, "nothing"):
            with pytest.raises(FileNotFound):
                await files.find(ADA, gone)
        with pytest.raises(UploadNotFound):
            await files.upload(ADA, upload.id)
        assert await files.usage("acme") == FileUsage(2, len(PNG) + 6)
        await files.delete(ADA, recent.file)

    async def test_a_file_that_is_about_to_be_sent_is_not_removed(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        saved = await files.save(ADA, "a.png", "", PNG)
        clock.advance(LONGER)
        await files.find(ADA, saved.file)
        assert await files.remove_unused(ADA.tenant) == 0
        clock.advance(LONGER)
        assert (await files.receive(ADA, "a.png", "", _in_pieces(PNG)))[1] is False
        assert await files.remove_unused(ADA.tenant) == 0

    @pytest.mark.parametrize("is_queued", [False, True])
    async def test_a_file_goes_with_the_last_conversation_that_uses_it(
        self, store: Store, clock: FakeClock, *, is_queued: bool
    ) -> None:
        files = self._files(store, clock)
        saved = await files.save(ADA, "a.png", "", PNG)
        for name in ("one", "two"):
            await new(store, name=name)
            if is_queued:
                await run(store, name)
                await store.begin(ADA, name, Begin(message=_message(saved), owner="one", lease_for=MINUTE))
            else:
                await _send(store, name, saved)
        clock.advance(2 * LONGER)
        assert store.files is not None
        for whose in ((), ("ada",), ("ada", "one")):
            assert await store.files.used_bytes("acme", *whose) == len(PNG)
        for nobody in (("bob",), ("ada", "three")):
            assert await store.files.used_bytes("acme", *nobody) == 0
        await store.delete(ADA, "one")
        assert await store.files.used_bytes("acme", "ada", "one") == 0
        assert await files.read(ADA, saved.file) == PNG
        await store.delete(ADA, "two")
        for verb in (files.find, files.read, files.delete):
            with pytest.raises(FileNotFound):
                await verb(ADA, saved.file)
        assert await files.remove_unused(ADA.tenant) == 0
        await store.restore(ADA, "two")
        await store.operations.purge(timedelta(0))
        assert await files.remove_unused(ADA.tenant) == 0
        assert await files.read(ADA, saved.file) == PNG
        await store.delete(ADA, "two")
        await store.operations.purge(timedelta(0))
        with pytest.raises(FileNotFound):
            await files.find(ADA, saved.file)
        assert await files.remove_unused(ADA.tenant) == 1
        assert await files.usage("acme") == NOTHING

    async def test_a_file_of_a_deleted_conversation_is_back_when_it_is_uploaded_again(
        self, store: Store, clock: FakeClock
    ) -> None:
        files = self._files(store, clock)
        await new(store, name="c")
        saved = await files.save(ADA, "a.png", "", PNG)
        await _send(store, "c", saved)
        await store.delete(ADA, "c")
        assert (await files.receive(ADA, "a.png", "", _in_pieces(PNG)))[0].id == saved.file
        await store.operations.purge(timedelta(0))
        assert await files.remove_unused(ADA.tenant) == 0
        assert await files.read(ADA, saved.file) == PNG

    async def test_the_content_stays_as_long_as_one_user_has_it(self, store: Store, clock: FakeClock) -> None:
        files = self._files(store, clock)
        adas, bobs = await files.save(ADA, "a.png", "", PNG), await files.save(BOB, "b.png", "", PNG)
        await new(store, name="c")
        await _send(store, "c", adas)
        upload = await files.begin(ADA, "c")
        await files.append(ADA, upload.id, 0, _in_pieces(PNG))
        assert await files.erase(ADA) == 1
        with pytest.raises(FileNotFound):
            await files.find(ADA, adas.file)
        assert await files.read(BOB, bobs.file) == PNG
        assert await files.usage("acme", "ada") == NOTHING
        assert await files.erase(BOB) == 1
        assert await files.usage("acme") == NOTHING

    async def test_what_was_cut_off_while_it_was_removed_is_removed_later(
        self, store: Store, clock: FakeClock, monkeypatch: Any
    ) -> None:
        files = self._files(store, clock)
        saved = await files.save(ADA, "a.bin", "", LARGE)

        async def cut(*_: object) -> None:
            raise ConnectionError

        with monkeypatch.context() as patch:
            patch.setattr(store.files, "forget", cut)
            with pytest.raises(ConnectionError):
                await files.delete(ADA, saved.file)
        with pytest.raises(FileNotFound):
            await files.find(ADA, saved.file)
        assert (await files.usage("acme")).bytes == len(LARGE)
        await files.remove_unused(ADA.tenant)
        assert await files.usage("acme") == NOTHING
