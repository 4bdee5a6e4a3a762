"""Pages of a branch: the newest, those before and after an entry, and the whole."""

import pytest

from threadkeep.conversation.entry import Summary, Update
from threadkeep.errors import EntryNotFound
from threadkeep.store.base import ROOT, Store
from threadkeep.store.paging import walk
from threadkeep.store.values import Append
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, asked, new, say, texts_of


async def _with_remarks(store: Store) -> str:
    """Return a conversation whose current branch is 1, 2, 4, 8, 9; 3 and 7 are remarks, 5 and 6 another branch."""
    name = await new(store, ADA, "1", "2")
    await store.append(ADA, name, Append(bodies=(Summary(content="3"), asked("4"))))
    await say(store, name, "5", "6", parent=2)
    await store.choose_head(ADA, name, 4)
    await say(store, name, "8", "9")
    return name


@pytest.mark.asyncio
class TestPages:
    async def test_the_newest_entries_come_oldest_first_without_remarks(self, store: Store) -> None:
        name = await _with_remarks(store)
        assert texts_of(await store.newest(ADA, name)) == ["1", "2", "4", "8", "9"]
        for limit in range(1, 7):
            assert texts_of(await store.newest(ADA, name, limit=limit)) == ["1", "2", "4", "8", "9"][-limit:]
        assert texts_of(await store.newest(ADA, name, limit=3, head=6)) == ["2", "5", "6"]

    async def test_a_page_before_an_entry_ends_just_before_it(self, store: Store) -> None:
        name = await _with_remarks(store)
        assert texts_of(await store.newest(ADA, name, before=9)) == ["1", "2", "4", "8"]
        assert texts_of(await store.newest(ADA, name, before=9, limit=2)) == ["4", "8"]
        assert texts_of(await store.newest(ADA, name, before=6, limit=2)) == ["2", "5"]
        assert texts_of(await store.newest(ADA, name, before=4, limit=1)) == ["2"]
        assert await store.newest(ADA, name, before=1) == ()

    async def test_a_page_after_an_entry_begins_just_after_it(self, store: Store) -> None:
        name = await _with_remarks(store)
        assert texts_of(await store.after(ADA, name, ROOT)) == ["1", "2", "4", "8", "9"]
        assert texts_of(await store.after(ADA, name, 2)) == ["4", "8", "9"]
        assert texts_of(await store.after(ADA, name, 2, limit=2)) == ["4", "8"]
        assert texts_of(await store.after(ADA, name, 1, limit=2, head=6)) == ["2", "5"]
        assert await store.after(ADA, name, 9) == ()
        assert await store.after(ADA, name, 6, head=6) == ()

    async def test_what_follows_an_entry_of_another_branch_is_not_found(self, store: Store) -> None:
        name = await _with_remarks(store)
        for seq, head in ((5, None), (3, None), (4, 6), (9, 4), (99, None), (-1, None), (2**70, None)):
            async with refused(store, EntryNotFound):
                await store.after(ADA, name, seq, head=head)

    async def test_what_comes_before_a_remark_or_nothing_is_not_found(self, store: Store) -> None:
        name = await _with_remarks(store)
        for seq in (3, 7, 10, -1, 2**63, 2**70):
            async with refused(store, EntryNotFound):
                await store.newest(ADA, name, before=seq)

    async def test_an_empty_branch_has_nothing_after_the_root(self, store: Store) -> None:
        name = await new(store)
        assert await store.after(ADA, name, ROOT) == ()

    async def test_pages_backwards_and_forwards_meet_without_gap_or_repeat(self, store: Store) -> None:
        name = await new(store)
        for start in range(0, 60, 3):
            await say(store, name, *(str(number) for number in range(start, start + 3)))
            await store.update(ADA, name, Update(title=f"title {start}"))
        whole = await store.newest(ADA, name, limit=1000)
        assert texts_of(whole) == [str(number) for number in range(60)]
        backwards = list(await store.newest(ADA, name, limit=7))
        while page := await store.newest(ADA, name, before=backwards[0].seq, limit=7):
            backwards[:0] = page
        assert tuple(backwards) == whole
        forwards = list(await store.after(ADA, name, ROOT, limit=7))
        while page := await store.after(ADA, name, forwards[-1].seq, limit=7):
            forwards += page
        assert tuple(forwards) == whole

    async def test_walking_a_branch_yields_it_as_it_was_when_the_walk_began(self, store: Store) -> None:
        name = await new(store)
        for start in range(0, 1100, 100):
            await say(store, name, *(str(number) for number in range(start, start + 100)))
        walking = aiter(walk(store, ADA, name))
        seen = [await anext(walking)]
        await say(store, name, "too late")
        await say(store, name, "another branch", parent=1)
        seen += [entry async for entry in walking]
        assert texts_of(tuple(seen)) == [str(number) for number in range(1100)]

    async def test_walking_another_branch_yields_that_one(self, store: Store) -> None:
        name = await _with_remarks(store)
        assert [entry.seq async for entry in walk(store, ADA, name, head=6)] == [1, 2, 5, 6]
        assert [entry.seq async for entry in walk(store, ADA, name)] == [1, 2, 4, 8, 9]
