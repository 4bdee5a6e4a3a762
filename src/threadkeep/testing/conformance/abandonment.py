"""Abandoned and completed conversations: still readable, active again with a new message, never taken from who has come
back."""

import asyncio

import pytest

from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.errors import ConversationBusy, ConversationNotFound
from threadkeep.store.base import Store
from threadkeep.store.values import Append, ListFilter, Statistics
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, asked, new, run, say, texts_of
from threadkeep.testing.stores import OpenAnother

ABANDONED = Update(status=Status.ABANDONED)


async def _abandoned(store: Store) -> str:
    name = await new(store, ADA, "hello")
    await store.update(ADA, name, ABANDONED)
    return name


@pytest.mark.asyncio
class TestAbandonment:
    async def test_an_abandoned_conversation_can_be_read_and_listed(self, store: Store) -> None:
        name = await _abandoned(store)
        assert (await store.get(ADA, name)).status is Status.ABANDONED
        assert texts_of(await store.newest(ADA, name)) == ["hello"]
        (listed,) = (await store.list(ADA, ListFilter(status=Status.ABANDONED))).items
        assert listed.id == name

    async def test_a_new_message_makes_it_active_again_in_the_same_step(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        for write in (say, run):
            name = await _abandoned(store)
            await write(other, name, "back again")
            there = await other.get(ADA, name)
            assert (there.status, there.version) == (Status.ACTIVE, 3)
            entry = await store.entry(ADA, name, there.entries)
            assert entry.body == Update(status=Status.ACTIVE)
            assert await store.get(ADA, name) == there
            await say(store, name, "and again")
            assert (await store.get(ADA, name)).version == 3
        await other.close()

    async def test_a_message_that_is_queued_makes_it_active_again(self, store: Store) -> None:
        name = await new(store, ADA)
        await run(store, name)
        await store.update(ADA, name, ABANDONED)
        begun = await run(store, name, "queued")
        assert begun.lease is None
        assert (await store.get(ADA, name)).status is Status.ACTIVE

    async def test_a_title_leaves_it_abandoned(self, store: Store) -> None:
        name = await _abandoned(store)
        await store.update(ADA, name, Update(title="later"))
        assert (await store.get(ADA, name)).status is Status.ABANDONED

    async def test_a_completed_conversation_that_goes_on_is_active_again_but_not_by_the_turn_that_completes_it(
        self, store: Store
    ) -> None:
        for write in (say, run):
            name = await new(store, ADA, "hello")
            await store.update(ADA, name, Update(status=Status.COMPLETED))
            await write(store, name, "one more")
            assert (await store.get(ADA, name)).status is Status.ACTIVE
        lease = (await run(store, name := await new(store, ADA))).lease
        await store.update(ADA, name, Update(status=Status.COMPLETED))
        await store.append(ADA, name, Append(bodies=(asked("the end"),), lease=lease))
        assert (await store.get(ADA, name)).status is Status.COMPLETED

    async def test_a_change_can_be_dated_as_of_another_time_and_keeps_the_list_in_order(
        self, store: Store, clock: FakeClock
    ) -> None:
        name, last = await new(store, ADA, "hello"), clock.now
        clock.advance(3600)
        other = await new(store, ADA, "newer")
        changed = await store.update(ADA, name, ABANDONED, at=last)
        assert (changed.updated_at, (await store.entry(ADA, name, 2)).created_at) == (last, last)
        assert [item.id for item in (await store.list(ADA)).items] == [other, name]
        assert [item.updated_at for item in (await store.list("acme")).items] == [clock.now, last]

    async def test_what_was_decided_by_an_older_log_is_refused(self, store: Store, open_another: OpenAnother) -> None:
        other, name = await open_another(), await new(store, ADA, "hello")
        seen = (await store.get(ADA, name)).entries
        await say(other, name, "still here")
        async with refused(store, ConversationBusy):
            await store.delete(ADA, name, expected_entries=seen)
        async with refused(store, ConversationBusy):
            await store.update(ADA, name, ABANDONED, expected_entries=seen)
        await store.update(ADA, name, ABANDONED, expected_entries=seen + 1)
        await store.delete(ADA, name, expected_entries=seen + 2)
        async with refused(store, ConversationNotFound):
            await store.delete(ADA, name, expected_entries=seen + 2)
        await other.close()

    async def test_of_a_message_and_a_deletion_at_once_one_wins(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        for number in range(20):
            name = await new(store, ADA, "hello", name=f"c{number}")
            said, deleted = await asyncio.gather(
                other.append(ADA, name, Append(bodies=(asked("me first"),))),
                store.delete(ADA, name, expected_entries=1),
                return_exceptions=True,
            )
            if isinstance(deleted, ConversationBusy):
                assert not isinstance(said, BaseException)
                assert (await store.get(ADA, name)).entries == 2
            else:
                assert (type(said), deleted) == (ConversationNotFound, None)
        await other.close()

    async def test_what_one_conversation_takes_is_counted(self, store: Store) -> None:
        name = await new(store, ADA, "12345", "é")
        await new(store, ADA, "more")
        await new(store, BOB, "x", name="bobs")
        assert await store.operations.statistics("acme", conversation=name) == Statistics(
            conversations=1, entries=2, bytes=7
        )
        assert (await store.operations.statistics("acme", user="ada", conversation=name)).bytes == 7
        for elsewhere in ({"user": "ada", "conversation": "bobs"}, {"conversation": "missing"}):
            assert await store.operations.statistics("acme", **elsewhere) == Statistics()
        assert await store.operations.statistics("umbrella", conversation=name) == Statistics()
