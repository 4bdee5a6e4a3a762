"""Related messages: what was said earlier in a conversation that has to do with some words."""

import pytest

from threadkeep.errors import ConversationNotFound, InvalidLimit
from threadkeep.store.base import Store
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, new


async def _found(store: Store, name: str, *words: str, before: int = 1000, limit: int = 20) -> list[int]:
    return [entry.seq for entry in await store.related(ADA, name, words, before=before, limit=limit)]


@pytest.mark.asyncio
class TestRelated:
    async def test_a_message_with_one_of_the_words_is_found(self, store: Store) -> None:
        name = await new(store, ADA, "the harbour of Bergen", "rain", "a boat to Oslo")
        assert await _found(store, name, "bergen", "oslo", "paris") == [3, 1]
        assert await _found(store, name, "paris") == []
        assert await _found(store, name) == []

    async def test_rare_words_and_more_of_them_come_first(self, store: Store) -> None:
        name = await new(store, ADA, "blue whale song", "whale", "whale", "whale watching", "the whale song")
        assert (await _found(store, name, "whale", "blue", "song"))[:2] == [1, 5]

    async def test_only_what_was_stored_before_is_found(self, store: Store) -> None:
        name = await new(store, ADA, "apple one", "apple two", "apple three")
        assert await _found(store, name, "apple", before=3) == [2, 1]
        assert await _found(store, name, "apple", before=1) == []

    async def test_a_limit_keeps_the_best(self, store: Store) -> None:
        name = await new(store, ADA, *(f"number {number}" for number in range(30)))
        assert await _found(store, name, "number", "7", limit=2) == [8, 30]
        async with refused(store, InvalidLimit):
            await store.related(ADA, name, ["number"], before=9, limit=0)

    async def test_other_conversations_and_other_people_are_left_out(self, store: Store) -> None:
        name = await new(store, ADA, "secret plan")
        other = await new(store, ADA, "secret garden")
        assert await _found(store, other, "secret") == [1]
        async with refused(store, ConversationNotFound):
            await store.related(BOB, name, ["secret"], before=9)

    async def test_words_are_found_whatever_their_case_and_accents(self, store: Store) -> None:
        name = await new(store, ADA, "Crème brûlée", "it's a 'quoted' word", "漢字の検索")
        assert await _found(store, name, "CREME") == [1]
        assert await _found(store, name, "quoted", "'") == [2]
        assert await _found(store, name, "検索") == [3]
