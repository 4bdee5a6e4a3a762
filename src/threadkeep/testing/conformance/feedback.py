"""What somebody thinks of a message is an entry that points at it."""

import asyncio

import pytest

from threadkeep.conversation.entry import Feedback
from threadkeep.errors import InvalidParent
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Page
from threadkeep.testing.samples import ADA, new, say

GOOD, BAD = Feedback(rating="up"), Feedback(rating="down", comment="Too short. \x00")


async def give(store: Store, conversation: str, entry: int, feedback: Feedback) -> None:
    await store.append(ADA, conversation, Append(bodies=(feedback,), parent=entry))


class TestFeedback:
    async def test_it_stands_beside_its_message_and_moves_neither_head_nor_version(self, store: Store) -> None:
        name = await new(store, ADA, "asked", "answered")
        before = await store.get(ADA, name)
        await give(store, name, 2, BAD)
        found = await store.snapshot(ADA, name, Page(messages=10))
        assert found.opinions == {2: BAD}
        assert (found.conversation.head, found.conversation.version) == (before.head, before.version)
        assert found.conversation.entries == before.entries + 1

    async def test_the_newest_counts_and_one_without_a_rating_takes_it_back(self, store: Store) -> None:
        name = await new(store, ADA, "asked", "answered", "asked again", "answered again")
        for feedback in (GOOD, BAD):
            await give(store, name, 2, feedback)
        await give(store, name, 4, GOOD)
        assert (await store.snapshot(ADA, name, Page(messages=10))).opinions == {2: BAD, 4: GOOD}
        await give(store, name, 2, Feedback())
        assert (await store.snapshot(ADA, name, Page(messages=10))).opinions == {4: GOOD}

    async def test_a_page_has_only_what_was_said_about_its_messages(self, store: Store) -> None:
        name = await new(store, ADA, "asked", "answered", "asked again", "answered again")
        await give(store, name, 2, GOOD)
        await give(store, name, 4, BAD)
        assert (await store.snapshot(ADA, name, Page(messages=2))).opinions == {4: BAD}
        assert (await store.snapshot(ADA, name, Page(messages=2, before=3))).opinions == {2: GOOD}
        assert (await store.snapshot(ADA, name)).opinions == {}

    async def test_of_two_who_rate_at_once_none_is_lost(self, store: Store) -> None:
        name = await new(store, ADA, "asked", "answered")
        await say(store, name, "asked again", "answered again")
        await asyncio.gather(give(store, name, 2, GOOD), give(store, name, 4, BAD))
        assert (await store.snapshot(ADA, name, Page(messages=10))).opinions == {2: GOOD, 4: BAD}

    async def test_it_is_about_something_that_was_said(self, store: Store) -> None:
        name = await new(store, ADA, "asked")
        with pytest.raises(InvalidParent):
            await give(store, name, 7, GOOD)
