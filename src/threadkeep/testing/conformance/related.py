"""Related messages: what was said earlier in a conversation that has to do with some words."""

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.errors import ConversationNotFound, InvalidLimit
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, new


async def _found(store: Store, name: str, *words: str, head: int = 1000, limit: int = 20) -> list[int]:
    forms = [word.split("|") for word in words]
    return [related.entry.seq for related in await store.related(ADA, name, forms, head=head, limit=limit)]


FAR = ("so", "well", "then", "right", "fine")
"""Messages that keep two others from being neighbours."""


@pytest.mark.asyncio
class TestRelated:
    async def test_a_message_with_one_of_the_words_is_found(self, store: Store) -> None:
        name = await new(store, ADA, "the harbour of Bergen", *FAR, "a boat to Oslo")
        assert set(await _found(store, name, "bergen", "oslo", "paris", limit=2)) == {1, 7}
        assert await _found(store, name, "paris") == []
        assert await _found(store, name) == []

    async def test_one_form_of_a_word_is_enough(self, store: Store) -> None:
        name = await new(store, ADA, "we were planning it", *FAR, "the plan", *FAR, "he plans")
        assert set(await _found(store, name, "plan|plans|planned|planning", limit=3)) == {1, 7, 13}

    async def test_rare_words_and_more_of_them_come_first(self, store: Store) -> None:
        name = await new(store, ADA, "blue whale song", *FAR, "whale", *FAR, "whale", *FAR, "whale song", *FAR, "song")
        assert (await _found(store, name, "whale", "blue", "song"))[0] == 1

    async def test_neighbours_come_with_a_message_that_fits_and_far_ones_do_not(self, store: Store) -> None:
        name = await new(store, ADA, *FAR, "Which hotel in Bergen?", "The Grand, at the harbour.", *FAR, *FAR)
        found = await _found(store, name, "hotel", "bergen")
        assert found[0] == 6
        assert 7 in found
        assert 1 not in found
        assert 12 not in found

    async def test_who_said_it_and_when_count_without_a_word_of_the_question(self, store: Store) -> None:
        name = await new(store, ADA, "Ada: a boat", *FAR, "Bob: a boat", *FAR)
        day = (await store.entry(ADA, name, 1)).created_at
        boat, bob, then = [["boat"]], [["bob"]], [[f"{day:%Y%m%d}", "19990101"]]
        found = [
            [each.entry.seq for each in await store.related(ADA, name, words, marks, head=20)]
            for words, marks in ((boat, bob), ([], bob), (boat, [["c1"], ["u1"]]), ([], then), ([], [["19990101"]]))
        ]
        assert [each[:1] for each in found[:3]] == [[7], [7], [7]]
        assert [len(each) for each in found[3:]] == [12, 0]

    async def test_only_what_was_stored_before_is_found(self, store: Store) -> None:
        name = await new(store, ADA, "apple one", "apple two", "apple three")
        assert await _found(store, name, "apple", head=2) == [2, 1]
        assert await _found(store, name, "apple", head=0) == []

    async def test_what_other_branches_say_is_left_out_and_keeps_nothing_away(self, store: Store) -> None:
        name = await new(store, ADA, "the harbour of Bergen", *FAR)
        for number in range(30):
            elsewhere = Message(role=Role.USER, content=f"Bergen has a harbour {number}")
            await store.append(ADA, name, Append(bodies=(elsewhere,), parent=1))
        assert await _found(store, name, "harbour", "bergen", head=6, limit=5) == [1, 2, 3, 5, 4]
        assert await _found(store, name, "harbour", "bergen", head=36, limit=2) == [36, 1]

    async def test_a_limit_keeps_the_best(self, store: Store) -> None:
        name = await new(store, ADA, *(f"number {number}" for number in range(30)))
        assert await _found(store, name, "number", "7", limit=1) == [8]
        async with refused(store, InvalidLimit):
            await store.related(ADA, name, [["number"]], head=9, limit=0)

    async def test_a_word_of_a_long_conversation_is_found_far_back(self, store: Store) -> None:
        name = await new(store, ADA, "the harbour of Bergen", *(f"weather {number}" for number in range(200)))
        assert (await _found(store, name, "bergen", "weather"))[0] == 1

    async def test_other_conversations_and_other_people_are_left_out(self, store: Store) -> None:
        name = await new(store, ADA, "secret plan")
        other = await new(store, ADA, "secret garden")
        assert await _found(store, other, "secret") == [1]
        async with refused(store, ConversationNotFound):
            await store.related(BOB, name, [["secret"]], head=9)

    async def test_only_messages_are_found(self, store: Store) -> None:
        name = await new(store, ADA, "secret plan")
        await store.append(ADA, name, Append(bodies=(StateChange(set={"a": 1}),)))
        assert await _found(store, name, "secret") == [1]

    async def test_words_are_found_whatever_their_case_and_accents(self, store: Store) -> None:
        name = await new(store, ADA, "Crème brûlée", *FAR, "it's a 'quoted' word", *FAR, "漢字の検索")
        assert (await _found(store, name, "CREME"))[0] == 1
        assert (await _found(store, name, "quoted", "'"))[0] == 7
        assert (await _found(store, name, "検索"))[0] == 13
