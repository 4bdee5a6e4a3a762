"""Drafts: the text of a message that is being written, readable from any offset, finished in one step."""

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import ContentTooLarge, DraftMismatch, InvalidId, InvalidText
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.values import Append, Draft
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, MINUTE, new, run, running, say, settle, texts_of
from threadkeep.testing.stores import OpenAnother, whole_log


def _message(content: str, id: str = "m1", status: MessageStatus = MessageStatus.COMPLETE) -> Message:
    return Message(id=id, role=Role.ASSISTANT, content=content, status=status)


async def _draft(store: Store, name: str, cursor: Cursor | None = None) -> Draft | None:
    entries, draft = await whole_log(store, ADA, name)
    if cursor is None:
        return draft
    return (await store.log(ADA, name, cursor.model_copy(update={"seq": entries[-1].seq}))).draft


@pytest.mark.asyncio
class TestDrafts:
    async def test_text_is_readable_while_it_is_written(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        lease = await running(store, name)
        other = await open_another()
        assert await _draft(other, name) is None
        started_at = clock.now
        await store.write(lease, "m1", 0, "Once upon")
        clock.advance(1)
        await store.write(lease, "m1", 9, " a time")
        draft = await _draft(other, name)
        assert draft == Draft(message="m1", turn=1, started_at=started_at, offset=0, text="Once upon a time")
        await other.close()

    async def test_text_is_read_on_from_an_offset_in_characters(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        text = "a🙂\x00é日本" * 3
        for at in range(0, len(text), 2):
            await store.write(lease, "m1", at, text[at : at + 2])
        for offset in range(len(text)):
            draft = await _draft(store, name, Cursor(message="m1", offset=offset))
            assert draft is not None
            assert (draft.offset, draft.text) == (offset, text[offset:])

    async def test_a_reader_of_an_earlier_message_gets_the_text_from_its_beginning(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m2", 0, "text")
        draft = await _draft(store, name, Cursor(message="m1", offset=3))
        assert draft is not None
        assert (draft.message, draft.offset, draft.text) == ("m2", 0, "text")

    async def test_the_text_comes_only_with_the_page_that_reaches_the_end_of_the_log(self, store: Store) -> None:
        name = await new(store, ADA, *"abcd")
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "text")
        assert (await store.log(ADA, name, Cursor(), limit=5)).draft is None
        assert (await store.log(ADA, name, Cursor(), limit=6)).draft is not None
        assert (await store.log(ADA, name, Cursor(seq=5), limit=1)).draft is not None

    async def test_text_is_no_entry_and_moves_no_time(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        before = await store.get(ADA, name)
        clock.advance(1)
        await store.write(lease, "m1", 0, "text")
        assert await store.get(ADA, name) == before

    async def test_text_that_does_not_continue_what_is_stored_is_refused(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        async with refused(store, DraftMismatch):
            await store.write(lease, "m1", 1, "x")
        await store.write(lease, "m1", 0, "four")
        for message, offset in (("m1", 0), ("m1", 3), ("m1", 5), ("m2", 0), ("m2", 4), ("m1", -1), ("m1", 2**70)):
            async with refused(store, DraftMismatch):
                await store.write(lease, message, offset, "x")
        async with refused(store, DraftMismatch):
            await store.write(lease, "m1", 4, "")
        await store.write(lease, "m1", 4, " more")
        draft = await _draft(store, name)
        assert draft is not None
        assert draft.text == "four more"

    @pytest.mark.parametrize("status", MessageStatus)
    async def test_finishing_the_message_stores_it_and_removes_its_text(
        self, store: Store, status: MessageStatus
    ) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "the whole answer")
        message = _message("the whole answer", status=status)
        (entry,) = (await store.append(ADA, name, Append(bodies=(message,), lease=lease))).entries
        assert (entry.seq, entry.turn, entry.body) == (3, 1, message)
        assert await _draft(store, name) is None
        assert (await store.get(ADA, name)).head == 3
        assert len((await store.search(ADA, "whole")).items) == 1

    async def test_the_finished_message_may_be_longer_but_not_shorter(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "0123456789")
        async with refused(store, DraftMismatch):
            await store.append(ADA, name, Append(bodies=(_message("012345678"),), lease=lease))
        await store.append(ADA, name, Append(bodies=(_message("0123456789 and more"),), lease=lease))
        assert texts_of(await store.newest(ADA, name, limit=1)) == ["0123456789 and more"]

    async def test_the_last_message_is_finished_and_the_turn_settled_in_one_step(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "the answer")
        await settle(store, lease, _message("the answer"))
        assert await store.turns(ADA, name) == ()
        assert await _draft(store, name) is None

    async def test_a_turn_writes_one_message_after_the_other(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        for id in ("m1", "m2", "m3"):
            await store.write(lease, id, 0, f"text of {id}")
            await store.append(ADA, name, Append(bodies=(_message(f"text of {id}", id),), lease=lease))
        await settle(store, lease)
        assert texts_of(await store.newest(ADA, name)) == ["hello", "text of m1", "text of m2", "text of m3"]

    async def test_what_was_written_stays_when_another_takes_the_turn_up(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await store.write(await running(store, name), "m1", 0, "half an ans")
        clock.advance(61)
        (seen,) = await store.operations.expired(MINUTE)
        lease = await store.take(seen, "two", MINUTE)
        draft = await _draft(store, name)
        assert draft is not None
        assert (draft.message, draft.text, draft.turn) == ("m1", "half an ans", lease.turn)
        partial = _message("half an ans", status=MessageStatus.INTERRUPTED)
        await store.append(ADA, name, Append(bodies=(partial,), lease=lease))
        await store.write(lease, "m2", 0, "a whole answer")
        await settle(store, lease, _message("a whole answer", "m2"))
        assert texts_of(await store.newest(ADA, name)) == ["hello", "half an ans", "a whole answer"]

    async def test_another_owner_can_write_on(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await store.write(await running(store, name), "m1", 0, "half")
        clock.advance(61)
        (seen,) = await store.operations.expired(MINUTE)
        lease = await store.take(seen, "two", MINUTE)
        await store.write(lease, "m1", 4, " and half")
        await settle(store, lease, _message("half and half"))

    async def test_entries_that_arrive_in_the_middle_leave_the_text_alone(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "one ")
        await say(store, name, "an aside")
        await run(store, name, "queued")
        await store.write(lease, "m1", 4, "two")
        page = await store.log(ADA, name, Cursor(seq=2, message="m1", offset=2))
        assert [entry.seq for entry in page.entries] == [3, 4]
        assert page.draft is not None
        assert (page.draft.offset, page.draft.text) == (2, "e two")

    async def test_a_draft_cannot_grow_beyond_what_a_message_may_hold(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "x" * (MAX_BYTES // 2))
        async with refused(store, ContentTooLarge):
            await store.write(lease, "m1", MAX_BYTES // 2, "é" * (MAX_BYTES // 3))

    async def test_a_draft_of_many_pieces_is_one_text(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        pieces = [f"piece {number} " for number in range(300)]
        offset = 0
        for piece in pieces:
            await store.write(lease, "m1", offset, piece)
            offset += len(piece)
        draft = await _draft(store, name)
        assert draft is not None
        assert draft.text == "".join(pieces)
        await settle(store, lease, _message("".join(pieces)), state=TurnState.INTERRUPTED)
        assert texts_of(await store.newest(ADA, name, limit=1)) == ["".join(pieces)]

    async def test_a_bad_id_or_bad_text_is_refused(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        for bad in ("", "a/b", "nul\x00", "x" * 200):
            async with refused(store, InvalidId):
                await store.write(lease, bad, 0, "x")
        async with refused(store, InvalidText):
            await store.write(lease, "m1", 0, "half a pair \ud83d")
