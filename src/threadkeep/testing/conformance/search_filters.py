"""Searches with exclusions and filters, and titles: the same rules on every backend."""

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Role
from threadkeep.errors import InvalidCursor, InvalidSearch
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Order
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, NO_TIME, new, returned, say
from threadkeep.testing.stores import OpenAnother

DAY = 86_400


async def _found(store: Store, text: str, order: Order = "rank") -> list[tuple[str, int | None]]:
    """Return conversation and entry of what Ada finds, read two hits at a time; a title has no entry."""
    found: list[tuple[str, int | None]] = []
    after = None
    while True:
        page = await store.search(ADA, text, order=order, limit=2, after=after)
        found += [(hit.conversation, hit.seq) for hit in page.items]
        after = page.next
        if after is None:
            return found


async def _titled(store: Store, name: str, title: str, *texts: str, assistant: str | None = None) -> None:
    await store.create(ADA, NewConversation(id=name, title=title, assistant=assistant))
    if texts:
        await say(store, name, *texts)


@pytest.mark.asyncio
class TestSearchFilters:
    async def test_words_and_phrases_can_be_excluded(self, store: Store) -> None:
        await new(store, ADA, "otter at sea", "otter at the sea shore", "otter in a zoo", name="c")
        assert sorted(await _found(store, "otter -zoo ")) == [("c", 1), ("c", 2)]
        assert sorted(await _found(store, "otter -zoo -shore ")) == [("c", 1)]
        assert sorted(await _found(store, 'otter -"sea shore" ')) == [("c", 1), ("c", 3)]
        assert await _found(store, "otter -otter ") == []

    async def test_messages_are_found_by_role(self, store: Store) -> None:
        await new(store, ADA, "otter asked", "otter answered", name="c")
        await store.append(ADA, "c", Append(bodies=(returned("otter fetched"),)))
        for role, seq in ((Role.USER, 1), (Role.ASSISTANT, 2), (Role.TOOL, 3)):
            assert await _found(store, f"otter role:{role}") == [("c", seq)]
        assert await _found(store, "otter role:system") == []

    async def test_messages_are_found_by_time(self, store: Store, clock: FakeClock) -> None:
        await new(store, ADA, "otter one", name="c")
        clock.advance(DAY)
        await say(store, "c", "otter two")
        clock.advance(DAY)
        await say(store, "c", "otter three")
        moment = clock.now.isoformat()
        assert await _found(store, f"otter after:{moment}") == [("c", 3)]
        assert sorted(await _found(store, f"otter before:{moment}")) == [("c", 1), ("c", 2)]
        assert await _found(store, f"otter after:{moment} before:9999") == [("c", 3)]

    async def test_messages_and_titles_are_found_by_assistant_and_status_of_their_conversation(
        self, store: Store
    ) -> None:
        await _titled(store, "a", "Some otter", "an otter", assistant="chat")
        await _titled(store, "b", "Some otter", "an otter", assistant="shop")
        await store.update(ADA, "b", Update(status=Status.COMPLETED))
        for text in ("otter assistant:shop", "otter status:completed", "otter assistant:shop status:completed"):
            assert sorted(await _found(store, text), key=str) == [("b", 1), ("b", None)], text
        assert await _found(store, "otter assistant:chat status:completed") == []
        assert sorted(await _found(store, "otter status:active"), key=str) == [("a", 1), ("a", None)]
        assert await _found(store, "assistant:shop") == [("b", None)]
        assert await _found(store, "status:active") == [("a", None)]

    async def test_a_filter_looks_behind_more_matches_than_are_ranked(self, store: Store) -> None:
        await new(store, ADA, "otter wanted", name="old")
        await new(store, ADA, name="c")
        for _ in range(13):
            await store.append(ADA, "c", Append(bodies=tuple(returned("otter") for _ in range(20))))
        assert await _found(store, "otter role:user") == [("old", 1)]

    async def test_titles_are_found_as_they_are_now(self, store: Store) -> None:
        await _titled(store, "a", "Großer Plan", "nothing")
        await _titled(store, "b", "Small plan")
        assert sorted(await _found(store, "pla")) == [("a", None), ("b", None)]
        assert await _found(store, "grosser plan ") == [("a", None)]
        assert await _found(store, '"small plan"') == [("b", None)]
        assert await _found(store, "plan -small ") == [("a", None)]
        await store.update(ADA, "a", Update(title="Otters"))
        await store.update(ADA, "b", Update(archived=True))
        assert await _found(store, "grosser ") == []
        assert await _found(store, "otters ") == [("a", None)]
        assert await _found(store, "plan ") == [("b", None)]

    async def test_a_title_and_a_message_come_in_one_answer(self, store: Store, clock: FakeClock) -> None:
        await _titled(store, "a", "About otters", "tell me of otters")
        clock.advance(1)
        await say(store, "a", "otters swim and eat fish all day long, says the keeper of the zoo")
        begun = (await store.get(ADA, "a")).created_at
        hits = {hit.seq: hit for hit in (await store.search(ADA, "otters ")).items}
        assert hits.keys() == {None, 1, 2}
        title = hits[None]
        assert (title.kind, title.conversation, title.title) == ("title", "a", "About otters")
        assert (title.branch, title.role, title.created_at) == (None, None, begun)
        assert [title.snippet[low:high] for low, high in title.highlights] == ["otters"]
        assert {(hit.kind, hit.title) for seq, hit in hits.items() if seq} == {("message", "About otters")}
        only = (await store.search(ADA, "otters ", conversation="a")).items
        assert {hit.seq for hit in only} == {1, 2}

    async def test_words_of_a_title_narrow_a_search_for_messages(self, store: Store) -> None:
        await _titled(store, "a", "Trip to the sea", "an otter")
        await _titled(store, "b", "At home", "an otter")
        assert await _found(store, "otter title:sea ") == [("a", 1)]
        assert await _found(store, "otter title:se") == [("a", 1)]
        assert await _found(store, 'otter title:"the sea"') == [("a", 1)]
        assert await _found(store, 'otter title:"trip sea"') == []
        assert await _found(store, "title:trip") == [("a", None)]

    async def test_the_newest_come_first_if_that_is_asked_for(self, store: Store, clock: FakeClock) -> None:
        await _titled(store, "a", "Otter", "otter " * 5)
        clock.advance(1)
        await say(store, "a", "a long text with one otter in it " + "and more " * 50)
        clock.advance(1)
        await _titled(store, "b", "The last otter")
        assert await _found(store, "otter ", order="newest") == [("b", None), ("a", 2), ("a", 1), ("a", None)]
        assert (await _found(store, "otter "))[-1] == ("a", 2)

    async def test_a_cursor_is_good_for_one_order(self, store: Store) -> None:
        await new(store, ADA, *("needle" for _ in range(3)))
        cursor = (await store.search(ADA, "needle", limit=1)).next
        async with refused(store, InvalidCursor):
            await store.search(ADA, "needle", order="newest", after=cursor)

    async def test_a_conversation_that_is_made_meanwhile_shifts_no_page(self, store: Store, clock: FakeClock) -> None:
        for name in ("a", "b", "c"):
            await _titled(store, name, "Otter")
            clock.advance(1)
        first = await store.search(ADA, "otter ", limit=2)
        await _titled(store, "d", "Otter")
        second = await store.search(ADA, "otter ", limit=2, after=first.next)
        assert [hit.conversation for hit in (*first.items, *second.items)] == ["c", "b", "a"]

    async def test_titles_of_others_and_of_what_was_deleted_are_not_found(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        for scope, name in ((ADA, "a"), (BOB, "b"), (EVE, "e")):
            await store.create(scope, NewConversation(id=name, title="Otters"))
        assert await _found(other, "otters ") == [("a", None)]
        await store.delete(ADA, "a")
        assert await _found(other, "otters ") == []
        assert await _found(other, "status:active") == []
        await store.restore(ADA, "a")
        assert await _found(other, "otters ") == [("a", None)]
        await store.delete(ADA, "a")
        await store.operations.purge(NO_TIME)
        assert await _found(other, "otters ") == []
        await other.close()

    async def test_a_search_that_cannot_be_made_is_refused(self, store: Store) -> None:
        for text in ("-otter", "role:user", "otter colour:red", "otter before:soon", "otter role:boss"):
            async with refused(store, InvalidSearch):
                await store.search(ADA, text)
