"""Lists that show some conversations only: by assistant, status, archive, metadata and title."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.errors import InvalidSearch
from threadkeep.store.base import Store
from threadkeep.store.paging import list_first_ones_first
from threadkeep.store.values import EVERY, ConversationPage, ListFilter
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, new, say
from threadkeep.testing.stores import OpenAnother

VALUES: dict[str, Any] = {
    "text": "red",
    "empty": "",
    "number": 3,
    "minus": -3,
    "large": 2**60,
    "float": 3.0,
    "yes": True,
    "nothing": None,
    "list": [3],
    "object": {"red": "blue"},
    "sign\x00é\"'$.": "a\x00b\x1a0=c",
    "digits": "3",
}


async def _names(store: Store, **filters: Any) -> list[str]:
    """Return the ids of Ada's conversations in the order of the list, read two at a time. In the list of the tenant
    they stand in the same order."""
    names = [conversation.id for conversation in await _listed(store.list, ADA, ListFilter(**filters))]
    of_all = await _listed(store.list, ADA.tenant, ListFilter(**filters))
    assert [conversation.id for conversation in of_all if conversation.scope == ADA] == names
    return names


async def _listed(read: Callable[..., Awaitable[ConversationPage]], *asked: Any) -> list[Conversation]:
    found: list[Conversation] = []
    after = None
    while True:
        page = await read(*asked, limit=2, after=after)
        assert len(page.items) <= 2
        found += page.items
        after = page.next
        if after is None:
            return found


@pytest.mark.asyncio
class TestListFilters:
    async def test_the_list_can_be_narrowed_to_an_assistant_and_a_status(self, store: Store, clock: FakeClock) -> None:
        for at, assistant in enumerate(("market", "shop", "market", None, "market")):
            clock.advance(1)
            await store.create(ADA, NewConversation(id=f"c{at}", assistant=assistant))
        await store.update(ADA, "c2", Update(status=Status.COMPLETED))
        assert await _names(store, assistant="market") == ["c4", "c2", "c0"]
        assert await _names(store, status=Status.ACTIVE) == ["c4", "c3", "c1", "c0"]
        assert await _names(store, assistant="market", status=Status.COMPLETED) == ["c2"]
        assert await _names(store, assistant="nobody") == []

    async def test_what_is_pinned_comes_first_page_by_page_and_nothing_twice(
        self, store: Store, clock: FakeClock
    ) -> None:
        for name in "abcdefg":
            await new(store, ADA, "x", name=name)
            clock.advance(1)
        for name in "eca":
            await store.update(ADA, name, Update(pinned=True))
            clock.advance(1)
        await say(store, "d", "newest of all")
        for limit in (1, 2, 3, 4, 20):
            names, after = list[str](), None
            while True:
                page = await list_first_ones_first(store, ADA, EVERY, limit, after)
                names += [item.id for item in page.items]
                if (after := page.next) is None:
                    break
            assert "".join(names) == "acedgfb", limit
        assert await _names(store, pinned=True) == ["a", "c", "e"]
        assert await _names(store, pinned=False) == ["d", "g", "f", "b"]
        clock.advance(1)
        assert (await store.update(ADA, "a", Update(pinned=False))).pinned is False
        await store.update(ADA, "c", Update(archived=True))
        page = await list_first_ones_first(store, ADA, ListFilter(archived=False), 20, None)
        assert [item.id for item in page.items] == ["e", "a", "d", "g", "f", "b"]

    async def test_the_list_can_be_narrowed_to_what_is_archived_or_not(self, store: Store, clock: FakeClock) -> None:
        for name in ("a", "b", "c"):
            clock.advance(1)
            await store.create(ADA, NewConversation(id=name))
        await store.update(ADA, "b", Update(archived=True))
        assert await _names(store, archived=True) == ["b"]
        assert sorted(await _names(store, archived=False)) == ["a", "c"]
        assert await _names(store, archived=True, status=Status.COMPLETED) == []

    async def test_the_list_can_be_narrowed_by_metadata(self, store: Store) -> None:
        await store.create(ADA, NewConversation(id="a", metadata=VALUES))
        await store.create(ADA, NewConversation(id="b", metadata={"text": "blue", "number": 3}))
        await store.create(ADA, NewConversation(id="c"))
        held = {"text": "red", "empty": "", "minus": "-3", "large": str(2**60), "yes": "true", "digits": "3"}
        for key, value in {**held, "sign\x00é\"'$.": "a\x00b\x1a0=c"}.items():
            assert await _names(store, metadata={key: value}) == ["a"], key
        assert sorted(await _names(store, metadata={"number": "3"})) == ["a", "b"]
        assert await _names(store, metadata={"number": "3", "text": "blue"}) == ["b"]
        for key, value in (
            *(("text", "RED"), ("number", "3.0"), ("float", "3"), ("float", "3.0"), ("yes", "True"), ("missing", "")),
            *(("nothing", "null"), ("nothing", ""), ("list", "[3]"), ("object", '{"red": "blue"}'), ("red", "blue")),
        ):
            assert await _names(store, metadata={key: value}) == [], (key, value)
        await store.update(ADA, "c", Update(metadata={"text": "red"}))
        assert sorted(await _names(store, metadata={"text": "red"})) == ["a", "c"]

    async def test_the_list_can_be_narrowed_by_words_of_the_title(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        for name, title in (("a", "Großer Plan"), ("b", "A plan of plans"), ("c", None), ("d", "Planet")):
            clock.advance(1)
            await store.create(ADA, NewConversation(id=name, title=title))
        await store.create(BOB, NewConversation(id="e", title="Plan"))
        clock.advance(1)
        await say(store, "a", "the last active")
        assert await _names(other, title="plan") == ["a", "d", "b"]
        assert await _names(other, title="plan ") == ["a", "b"]
        assert await _names(other, title="PLAN großer") == ["a"]
        assert await _names(other, title="nothing") == []
        await store.update(ADA, "a", Update(title="Otters"))
        assert await _names(other, title="plan ") == ["b"]
        assert await _names(other, title="ott") == ["a"]
        await other.close()

    async def test_a_title_without_a_word_is_refused(self, store: Store) -> None:
        for title in ("", " ", "!", "🙂"):
            async with refused(store, InvalidSearch):
                await store.list(ADA, ListFilter(title=title))
