"""The tree: branches, heads, siblings and the choice between them."""

import pytest

from threadkeep.conversation.conversation import Branch
from threadkeep.conversation.entry import HeadChoice, Summary
from threadkeep.errors import EntryNotFound, StaleVersion
from threadkeep.store.base import ROOT, Store
from threadkeep.store.paging import walk
from threadkeep.store.values import Append
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, asked, new, say, texts_of


async def _branched(store: Store) -> str:
    """Return a conversation with three branches: 1-2-3-4, 1-2-5-6 and 7.

    1 ─ 2 ─ 3 ─ 4
        └── 5 ─ 6
    7
    """
    name = await new(store, ADA, *"1234")
    await say(store, name, *"56", parent=2)
    await say(store, name, "7", parent=ROOT)
    return name


@pytest.mark.asyncio
class TestBranches:
    async def test_an_append_to_an_older_entry_makes_a_branch_and_moves_the_head(self, store: Store) -> None:
        name = await new(store, ADA, *"1234")
        entries = await say(store, name, *"56", parent=2)
        assert [(entry.seq, entry.parent) for entry in entries] == [(5, 2), (6, 5)]
        conversation = await store.get(ADA, name)
        assert (conversation.head, conversation.entries, conversation.version) == (6, 6, 1)
        assert texts_of(await store.newest(ADA, name)) == ["1", "2", "5", "6"]
        assert texts_of(await store.newest(ADA, name, head=4)) == ["1", "2", "3", "4"]

    async def test_the_root_can_be_continued_again(self, store: Store) -> None:
        name = await _branched(store)
        assert (await store.entry(ADA, name, 7)).parent is None
        assert texts_of(await store.newest(ADA, name)) == ["7"]
        assert texts_of(await store.newest(ADA, name, head=6)) == ["1", "2", "5", "6"]

    async def test_all_branches_are_listed_with_the_place_where_they_parted(self, store: Store) -> None:
        tree = (await store.snapshot(ADA, await _branched(store))).tree
        assert tree.branches() == (Branch(head=4), Branch(head=6, fork=2), Branch(head=7, is_current=True))

    async def test_siblings_are_listed_in_order(self, store: Store) -> None:
        name = await _branched(store)
        await say(store, name, "8", parent=2)
        tree = (await store.snapshot(ADA, name)).tree
        assert tree.siblings(5, 2) == tree.siblings(8, 2) == (3, 5, 8)
        assert tree.siblings(2, 1) == (2,)
        assert tree.siblings(7, ROOT) == (1, 7)

    async def test_a_conversation_without_entries_has_no_branches(self, store: Store) -> None:
        name = await new(store)
        assert ((await store.snapshot(ADA, name)).tree).branches() == ()
        assert await store.newest(ADA, name) == ()
        assert [entry async for entry in walk(store, ADA, name)] == []

    async def test_a_branch_copies_nothing(self, store: Store) -> None:
        name = await new(store, ADA, *(f"message number {number}" for number in range(200)))
        before = await store.operations.statistics(ADA.tenant)
        await say(store, name, "x", parent=100)
        after = await store.operations.statistics(ADA.tenant)
        assert (after.entries - before.entries, after.bytes - before.bytes) == (1, 1)
        assert len(((await store.snapshot(ADA, name)).tree).jumps) == 1

    async def test_choosing_a_head_is_an_entry_and_the_next_message_continues_it(self, store: Store) -> None:
        name = await _branched(store)
        chosen = await store.choose_head(ADA, name, 4)
        assert (chosen.head, chosen.version, chosen.entries) == (4, 2, 8)
        assert await store.get(ADA, name) == chosen
        entry = await store.entry(ADA, name, 8)
        assert (entry.parent, entry.body) == (4, HeadChoice())
        assert (await say(store, name, "9"))[0].parent == 4
        tree = (await store.snapshot(ADA, name)).tree
        assert [branch.head for branch in tree.branches()] == [6, 7, 9]
        assert texts_of(await store.newest(ADA, name)) == ["1", "2", "3", "4", "9"]

    async def test_an_inner_entry_can_be_the_head(self, store: Store) -> None:
        name = await _branched(store)
        await store.choose_head(ADA, name, 3)
        branches = ((await store.snapshot(ADA, name)).tree).branches()
        assert [(branch.head, branch.is_current) for branch in branches] == [
            (3, True),
            (4, False),
            (6, False),
            (7, False),
        ]
        assert texts_of(await store.newest(ADA, name)) == ["1", "2", "3"]
        assert (await say(store, name, "10"))[0].parent == 3
        assert ((await store.snapshot(ADA, name)).tree).siblings(4, 3) == (4, 9)

    async def test_the_root_can_be_the_head(self, store: Store) -> None:
        name = await _branched(store)
        chosen = await store.choose_head(ADA, name, ROOT)
        assert chosen.head is None
        assert (await store.entry(ADA, name, 8)).parent is None
        assert await store.newest(ADA, name) == ()
        assert (await say(store, name, "9"))[0].parent is None
        assert ((await store.snapshot(ADA, name)).tree).siblings(9, ROOT) == (1, 7, 9)

    async def test_a_head_that_is_no_entry_of_a_branch_is_not_found(self, store: Store) -> None:
        name = await _branched(store)
        await store.append(ADA, name, Append(bodies=(Summary(content="entry eight is a remark"),)))
        for head in (8, 9, -1, 2**31, 2**63, 2**70):
            async with refused(store, EntryNotFound):
                await store.choose_head(ADA, name, head)
            async with refused(store, EntryNotFound):
                await store.newest(ADA, name, head=head)
            async with refused(store, EntryNotFound):
                await store.after(ADA, name, ROOT, head=head)
            async with refused(store, EntryNotFound):
                await store.count(ADA, name, head=head)

    async def test_a_choice_that_expects_another_version_is_refused(self, store: Store) -> None:
        name = await _branched(store)
        await store.choose_head(ADA, name, 4, expected_version=1)
        async with refused(store, StaleVersion) as caught:
            await store.choose_head(ADA, name, 6, expected_version=1)
        assert caught.value.version == 2

    async def test_looking_at_another_branch_moves_nothing(self, store: Store) -> None:
        name = await _branched(store)
        before = await store.get(ADA, name)
        await store.newest(ADA, name, head=4)
        await store.after(ADA, name, 1, head=6)
        assert [entry.seq async for entry in walk(store, ADA, name, head=4)] == [1, 2, 3, 4]
        assert await store.get(ADA, name) == before

    async def test_a_remark_between_two_messages_makes_no_branch(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        await store.append(ADA, name, Append(bodies=(Summary(content="remark"),)))
        await say(store, name, "3")
        tree = (await store.snapshot(ADA, name)).tree
        assert tree.branches() == (Branch(head=3, is_current=True),)
        assert (await store.entry(ADA, name, 3)).parent == 1
        assert tree.siblings(3, 1) == (3,)

    async def test_a_branch_from_before_a_remark_is_a_sibling_of_what_came_after_it(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        await store.append(ADA, name, Append(bodies=(Summary(content="remark"), asked("3"))))
        await say(store, name, "4", parent=1)
        tree = (await store.snapshot(ADA, name)).tree
        assert tree.siblings(4, 1) == (3, 4)
        assert [branch.head for branch in tree.branches()] == [3, 4]

    async def test_branches_of_branches_keep_their_paths(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        for number in range(2, 41):
            await say(store, name, str(number), parent=number // 2)
        for head in (40, 27, 1, 33):
            path = [head]
            while path[-1] > 1:
                path.append(path[-1] // 2)
            assert texts_of(await store.newest(ADA, name, head=head)) == [str(number) for number in reversed(path)]
        tree = (await store.snapshot(ADA, name)).tree
        assert [branch.head for branch in tree.branches()] == list(range(21, 41))
        assert tree.siblings(20, 10) == (20, 21)
