"""Counting messages: of any branch, from any entry of it, however long the log is and whatever else is in it."""

import pytest

from threadkeep.conversation.entry import Approval, Summary, Update
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.conversation.state import State
from threadkeep.errors import ConversationNotFound, EntryNotFound
from threadkeep.store.base import MAX_LIMIT, ROOT, Store
from threadkeep.store.values import Append
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, NO_TIME, answered, asked, new, returned, running, say, settle
from threadkeep.testing.stores import OpenAnother

LONG = 1100
"""More entries than a store would read one by one, and no round number of them for any store."""


async def _counted(store: Store, name: str, head: int) -> int:
    """Count the messages on a branch by reading it."""
    found, seq = 0, ROOT
    while page := await store.after(ADA, name, seq, limit=MAX_LIMIT, head=head):
        found += sum(isinstance(entry.body, Message) for entry in page)
        seq = page[-1].seq
    return found


async def _mixed(store: Store, name: str, entries: int) -> None:
    """Append messages with state changes and remarks between them, in steps of different sizes."""
    left = entries
    for size in (1, 2, 3, 700, 1, 2, entries):
        step = min(size, left)
        bodies = [
            (asked("q"), answered("a"), State().change({"n": at}), Summary(content="s"), returned("r"))[at % 5]
            for at in range(step)
        ]
        if step:
            await store.append(ADA, name, Append(bodies=tuple(bodies)))
        left -= step


@pytest.mark.asyncio
class TestCounts:
    async def test_an_empty_conversation_has_no_messages(self, store: Store) -> None:
        name = await new(store)
        assert await store.count(ADA, name) == 0
        await store.update(ADA, name, Update(title="still empty"))
        assert await store.count(ADA, name) == 0

    async def test_messages_are_counted_and_what_lies_between_them_is_not(self, store: Store) -> None:
        name = await new(store, ADA, "1", "2")
        await store.append(ADA, name, Append(bodies=(State().change({"city": "Bern"}), Summary(content="they met"))))
        await store.append(ADA, name, Append(bodies=(Approval(tool_call_id="c", approved=True),)))
        await say(store, name, "6")
        assert await store.count(ADA, name) == 3
        await store.append(ADA, name, Append(bodies=(State().change({"city": "Basel"}),)))
        await store.update(ADA, name, Update(title="a title"))
        assert await store.count(ADA, name) == 3

    async def test_messages_of_every_role_count_interrupted_ones_too(self, store: Store) -> None:
        name = await new(store, ADA, "call it")
        called = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="call-1", name="find"),))
        cut = Message(role=Role.ASSISTANT, content="It is", status=MessageStatus.INTERRUPTED)
        system = Message(role=Role.SYSTEM, content="Be brief.")
        await store.append(ADA, name, Append(bodies=(called, returned("found"), cut, system)))
        assert await store.count(ADA, name) == 5

    async def test_the_messages_of_turns_count_when_they_are_stored(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "half an ans")
        assert await store.count(ADA, name) == 1
        await settle(store, lease, Message(id="m1", role=Role.ASSISTANT, content="half an answer"))
        assert await store.count(ADA, name) == 2

    async def test_each_branch_has_its_own_count(self, store: Store) -> None:
        name = await new(store, ADA, *"1234")
        await say(store, name, *"567", parent=2)
        await say(store, name, "8", parent=ROOT)
        assert await store.count(ADA, name) == 1
        assert [await store.count(ADA, name, head=head) for head in range(1, 9)] == [1, 2, 3, 4, 3, 4, 5, 1]
        await store.choose_head(ADA, name, 3)
        assert await store.count(ADA, name) == 3
        await say(store, name, "beside 4")
        assert await store.count(ADA, name) == 4
        await store.choose_head(ADA, name, ROOT)
        assert await store.count(ADA, name) == 0

    async def test_the_root_is_no_head(self, store: Store) -> None:
        name = await new(store, ADA, "1", "2")
        async with refused(store, EntryNotFound):
            await store.count(ADA, name, head=ROOT)

    async def test_a_foreign_a_missing_and_a_deleted_conversation_are_not_found(self, store: Store) -> None:
        name = await new(store, ADA, "1", "2")
        for scope, other in ((BOB, name), (EVE, name), (ADA, "missing")):
            async with refused(store, ConversationNotFound):
                await store.count(scope, other)
            async with refused(store, ConversationNotFound):
                await store.count(scope, other, head=99)
        await store.delete(ADA, name)
        async with refused(store, ConversationNotFound):
            await store.count(ADA, name)
        await store.restore(ADA, name)
        assert await store.count(ADA, name) == 2

    async def test_a_long_log_is_counted_as_if_it_were_read(self, store: Store) -> None:
        name = await new(store)
        await _mixed(store, name, LONG)
        fork = 607
        await say(store, name, *["x"] * 300, parent=fork)
        await say(store, name, "y", parent=3)
        await say(store, name, "z", parent=LONG + 300)
        heads = (fork, LONG, LONG + 300, LONG + 301, LONG + 302, 256, 257, 512, 1027)
        assert [await store.count(ADA, name, head=head) for head in heads] == [
            await _counted(store, name, head) for head in heads
        ]

    async def test_a_log_that_grows_by_single_messages_is_counted_on(self, store: Store) -> None:
        name = await new(store, ADA, *["x"] * 250)
        for number in range(251, 263):
            await say(store, name, "y")
            assert await store.count(ADA, name) == number
        await say(store, name, *["x"] * 248)
        for number in range(512, 516, 2):
            await say(store, name, "y", "z")
            assert await store.count(ADA, name) == number

    async def test_every_handle_counts_what_all_have_written(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        name = await new(store, ADA, *["x"] * 255)
        await say(other, name, "256", "257")
        assert (await store.count(ADA, name), await other.count(ADA, name)) == (257, 257)
        await say(store, name, *["x"] * 254)
        await say(other, name, "512")
        assert (await store.count(ADA, name), await other.count(ADA, name)) == (512, 512)
        await other.close()

    async def test_a_conversation_with_the_id_of_a_purged_one_is_counted_anew(self, store: Store) -> None:
        name = await new(store, ADA, *["x"] * 600)
        await store.delete(ADA, name)
        assert await store.operations.purge(NO_TIME) == 1
        await new(store, ADA, *["y"] * 300, name=name)
        assert await store.count(ADA, name) == 300
