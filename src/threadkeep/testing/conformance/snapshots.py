"""One read of a conversation: page, tree, turns, state and draft fit together, and each is what its own verb says."""

import asyncio

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import ConversationNotFound, EntryNotFound, InvalidLimit
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Page
from threadkeep.testing.samples import ADA, BOB, answered, asked, new, running, say, texts_of


async def _branched(store: Store) -> str:
    """Return a conversation whose current branch is 1, 2, 4, 8, 9; 3 and 7 are remarks, 5 and 6 another branch."""
    name = await new(store, ADA, "1", "2")
    await store.append(ADA, name, Append(bodies=(Summary(content="3"), asked("4"))))
    await say(store, name, "5", "6", parent=2)
    await store.choose_head(ADA, name, 4)
    await say(store, name, "8", "9")
    return name


@pytest.mark.asyncio
class TestSnapshots:
    async def test_the_newest_messages_come_oldest_first_with_the_end_of_their_branch(self, store: Store) -> None:
        name = await _branched(store)
        for messages in range(7):
            found = await store.snapshot(ADA, name, Page(messages=messages))
            assert texts_of(found.entries) == ["1", "2", "4", "8", "9"][max(0, 5 - messages) :]
            assert found.branch == 9
        found = await store.snapshot(ADA, name, Page(messages=2, head=6))
        assert (texts_of(found.entries), found.branch) == (["5", "6"], 6)
        found = await store.snapshot(ADA, name, Page(messages=2, before=8))
        assert (texts_of(found.entries), found.branch) == (["2", "4"], 9)
        assert (await store.snapshot(ADA, name, Page(messages=2, before=1))).entries == ()

    async def test_entries_around_one_are_on_the_current_branch_or_else_on_the_newest(self, store: Store) -> None:
        name = await _branched(store)
        found = await store.snapshot(ADA, name, Page(messages=4, around=4))
        assert (texts_of(found.entries), found.branch) == (["2", "4", "8", "9"], 9)
        found = await store.snapshot(ADA, name, Page(messages=3, around=5))
        assert (texts_of(found.entries), found.branch) == (["2", "5", "6"], 6)
        found = await store.snapshot(ADA, name, Page(messages=1, around=2, head=6))
        assert (texts_of(found.entries), found.branch) == (["2"], 6)

    async def test_only_messages_count_and_what_lies_between_them_comes_along(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        for number in range(3):
            await store.append(ADA, name, Append(bodies=(StateChange(set={"n": number}),)))
        await say(store, name, "5")
        found = await store.snapshot(ADA, name, Page(messages=2))
        assert [entry.seq for entry in found.entries] == [1, 2, 3, 4, 5]
        assert found.state.values == {"n": 2}
        assert (await store.snapshot(ADA, name, Page(messages=1, head=3))).state.values == {"n": 1}

    async def test_everything_is_as_its_own_verb_says(self, store: Store) -> None:
        name = await _branched(store)
        lease = await running(store, name)
        await store.write(lease, "answer", 0, "Once upon")
        found = await store.snapshot(ADA, name, Page(messages=50))
        assert found.conversation == await store.get(ADA, name)
        assert found.tree == (await store.snapshot(ADA, name)).tree
        assert found.turns == await store.turns(ADA, name)
        assert found.entries == await store.newest(ADA, name, limit=50)
        log = await store.log(ADA, name, Cursor(seq=(found.branch or 0) - 1))
        assert (found.remarks, found.draft) == (log.entries, log.draft)
        assert found.draft is not None
        assert found.draft.text == "Once upon"
        assert found.ended is None

    async def test_the_end_of_the_newest_turn_is_known_until_something_else_is_said(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        settle = TurnChange(state=TurnState.CANCELLED, detail="enough")
        await store.append(ADA, name, Append(bodies=(answered("Well"),), lease=lease, settle=settle))
        assert (await store.snapshot(ADA, name)).ended == (lease.turn, settle)
        await say(store, name, "Then?")
        assert (await store.snapshot(ADA, name)).ended is None

    async def test_an_empty_conversation_has_no_branch(self, store: Store) -> None:
        name = await new(store)
        found = await store.snapshot(ADA, name, Page(messages=5))
        assert (found.entries, found.branch, found.remarks, found.turns, found.draft) == ((), None, (), (), None)
        assert found.state.values == {}

    async def test_it_is_read_as_of_one_moment(self, store: Store) -> None:
        name = await new(store)

        async def talk() -> None:
            for _ in range(5):
                lease = await running(store, name)
                settle = TurnChange(state=TurnState.COMPLETED)
                await store.append(ADA, name, Append(bodies=(answered("Yes"),), lease=lease, settle=settle))

        talking = asyncio.create_task(talk())
        while not talking.done():
            found = await store.snapshot(ADA, name, Page(messages=50))
            # A turn is open, or its answer is there.
            assert len(found.turns) == len(found.entries) % 2
            assert found.conversation.head == found.branch
            await asyncio.sleep(0)
        await talking

    async def test_what_is_no_entry_of_a_branch_is_not_found(self, store: Store) -> None:
        name = await _branched(store)
        for seq in (3, 7, 99, -1, 2**31, 2**53, 2**70):
            for page in (Page(head=seq), Page(messages=1, before=seq), Page(messages=1, around=seq)):
                with pytest.raises(EntryNotFound):
                    await store.snapshot(ADA, name, page)
        with pytest.raises(EntryNotFound):
            await store.snapshot(ADA, name, Page(messages=4, around=5, head=9))
        with pytest.raises(InvalidLimit):
            await store.snapshot(ADA, name, Page(messages=1001))
        for scope, id in ((BOB, name), (ADA, "unknown")):
            with pytest.raises(ConversationNotFound):
                await store.snapshot(scope, id)
