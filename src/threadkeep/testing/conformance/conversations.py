"""Conversations: create, get, list, update. How they are deleted is in `deletion`."""

from uuid import UUID

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.errors import (
    AlreadyExists,
    ConversationNotFound,
    InvalidCursor,
    MetadataTooLarge,
    StaleVersion,
    SystemTooLarge,
)
from threadkeep.store.base import Store
from threadkeep.store.checks import MAX_METADATA_BYTES, MAX_SYSTEM_BYTES
from threadkeep.store.values import Append, ListFilter
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, asked, new, say


async def _names(store: Store) -> list[str]:
    """Return the ids of Ada's conversations in the order of the list, read two at a time."""
    names: list[str] = []
    after = None
    while True:
        page = await store.list(ADA, limit=2, after=after)
        assert len(page.items) <= 2
        names += [conversation.id for conversation in page.items]
        after = page.next
        if after is None:
            return names


@pytest.mark.asyncio
class TestConversations:
    async def test_a_new_conversation_has_what_its_creator_decided(self, store: Store, clock: FakeClock) -> None:
        asked_for = NewConversation(
            id="2024-01-15.first_one",
            assistant="skillian",
            title="Ünïcode\x00 🙂",
            system="Be brief.",
            model="demo:one",
            metadata={"z": [1, 2.5, None, {"a": "\x00"}], "a": True},
        )
        created = await store.create(ADA, asked_for)
        conversation = created.conversation
        assert not created.replayed
        assert conversation.scope == ADA
        assert conversation.model_dump(include=set(NewConversation.model_fields)) == asked_for.model_dump()
        assert (conversation.status, conversation.archived) == (Status.ACTIVE, False)
        assert (conversation.version, conversation.head, conversation.entries) == (1, None, 0)
        assert (conversation.created_at, conversation.updated_at) == (clock.now, clock.now)
        assert await store.get(ADA, "2024-01-15.first_one") == conversation

    async def test_an_id_is_made_where_none_is_given(self, store: Store) -> None:
        first, second = await new(store), await new(store)
        assert UUID(first).version == UUID(second).version == 7
        assert first != second

    async def test_an_id_is_taken_once_in_a_tenant_whoever_took_it(self, store: Store) -> None:
        await new(store, ADA, "hello", name="taken")
        for scope in (ADA, BOB):
            async with refused(store, AlreadyExists):
                await store.create(scope, NewConversation(id="taken", title="another"))
        await new(store, EVE, name="taken")
        assert (await store.get(ADA, "taken")).entries == 1
        assert (await store.get(EVE, "taken")).entries == 0

    async def test_ids_that_differ_only_in_case_are_different(self, store: Store) -> None:
        await new(store, ADA, "lower", name="case")
        await new(store, ADA, "upper", "two", name="CASE")
        assert (await store.get(ADA, "case")).entries == 1
        assert (await store.get(ADA, "CASE")).entries == 2

    async def test_an_id_may_have_128_characters(self, store: Store) -> None:
        name = "x" * 128
        await new(store, ADA, "hello", name=name)
        assert (await store.get(ADA, name)).id == name
        assert await _names(store) == [name]

    async def test_what_is_missing_is_not_found(self, store: Store) -> None:
        async with refused(store, ConversationNotFound):
            await store.get(ADA, "missing")

    async def test_an_empty_list_has_no_next_page(self, store: Store) -> None:
        page = await store.list(ADA)
        assert (page.items, page.next) == ((), None)

    async def test_the_list_begins_with_the_newest_entry_and_has_each_conversation_once(
        self, store: Store, clock: FakeClock
    ) -> None:
        for name in ("a", "b", "c", "d", "e"):
            clock.advance(1)
            await new(store, name=name)
        assert await _names(store) == ["e", "d", "c", "b", "a"]
        clock.advance(1)
        await say(store, "b", "hello")
        clock.advance(1)
        await store.update(ADA, "d", Update(title="renamed"))
        assert await _names(store) == ["d", "b", "e", "c", "a"]

    async def test_the_list_has_each_conversation_once_when_all_are_from_the_same_moment(self, store: Store) -> None:
        for name in ("a", "b", "c", "d", "e"):
            await new(store, name=name)
        assert sorted(await _names(store)) == ["a", "b", "c", "d", "e"]
        assert await _names(store) == await _names(store)

    async def test_a_page_that_ends_with_the_list_has_no_next_one(self, store: Store) -> None:
        for name in ("a", "b", "c", "d"):
            await new(store, name=name)
        first = await store.list(ADA, limit=2)
        assert first.next is not None
        assert (await store.list(ADA, limit=2, after=first.next)).next is None

    async def test_a_cursor_of_the_list_that_was_forged_or_cut_is_refused(self, store: Store) -> None:
        for name in ("a", "b", "c"):
            await new(store, name=name)
        cursor = (await store.list(ADA, limit=1)).next
        assert cursor is not None
        for forged in ("", "x", "!" * 40, cursor[:-1], cursor + "A", "é" * 10, "A" * 2000, "\x00"):
            with pytest.raises(InvalidCursor):
                await store.list(ADA, after=forged)

    async def test_a_cursor_of_another_users_list_is_refused(self, store: Store) -> None:
        for scope in (ADA, BOB):
            for _ in range(3):
                await new(store, scope)
        cursor = (await store.list(BOB, limit=1)).next
        with pytest.raises(InvalidCursor):
            await store.list(ADA, after=cursor)

    async def test_an_update_changes_what_it_sets_and_is_an_entry(self, store: Store, clock: FakeClock) -> None:
        before = (await store.create(ADA, NewConversation(id="c", title="old", metadata={"a": 1}))).conversation
        await say(store, "c", "hello")
        clock.advance(5)
        change = Update(title="new", metadata={"b": "\x00"})
        after = await store.update(ADA, "c", change)
        assert after == before.model_copy(
            update={
                "title": "new",
                "metadata": {"b": "\x00"},
                "version": 2,
                "head": 1,
                "entries": 2,
                "updated_at": clock.now,
            }
        )
        assert await store.get(ADA, "c") == after
        entry = await store.entry(ADA, "c", 2)
        assert entry.body == change
        assert not entry.continues_branch
        after = await store.update(ADA, "c", Update(status=Status.ABANDONED, archived=True, model="demo:two"))
        assert (after.title, after.metadata) == ("new", {"b": "\x00"})
        assert (after.status, after.archived, after.model) == (Status.ABANDONED, True, "demo:two")
        assert (await store.update(ADA, "c", Update(archived=False))).archived is False

    async def test_who_answers_can_be_decided_later_and_changed(self, store: Store) -> None:
        before = (await store.create(ADA, NewConversation(id="c", model="demo"))).conversation
        assert before.assistant is None
        for at, assistant in enumerate(("shop", "market"), 1):
            change = Update(assistant=assistant)
            after = await store.update(ADA, "c", change)
            assert (after.assistant, after.model, after.version, after.entries) == (assistant, "demo", at + 1, at)
            assert (await store.entry(ADA, "c", at)).body == change
            assert await store.get(ADA, "c") == after
        await store.update(ADA, "c", Update(title="new"))
        assert (await store.get(ADA, "c")).assistant == "market"
        assert [listed.id for listed in (await store.list(ADA, ListFilter(assistant="market"))).items] == ["c"]
        assert (await store.list(ADA, ListFilter(assistant="shop"))).items == ()

    async def test_a_list_comes_without_what_may_be_large(self, store: Store) -> None:
        large = NewConversation(system="s" * MAX_SYSTEM_BYTES, metadata={"m": "m" * (MAX_METADATA_BYTES - 9)})
        whole = (await store.create(ADA, large)).conversation
        await store.update(ADA, whole.id, Update(metadata={"n": 1}))
        (listed,) = (await store.list(ADA)).items
        (of_all,) = (await store.list(ADA.tenant)).items
        assert (listed.system, listed.metadata) == (of_all.system, of_all.metadata) == (None, {})
        found = await store.get(ADA, whole.id)
        assert (found.system, found.metadata) == (large.system, {"n": 1})
        assert listed == found.listed()

    async def test_instructions_and_metadata_have_a_limit(self, store: Store) -> None:
        much = {"m": "ü" * (MAX_METADATA_BYTES // 2)}
        with pytest.raises(MetadataTooLarge):
            await store.create(ADA, NewConversation(metadata=much))
        with pytest.raises(SystemTooLarge):
            await store.create(ADA, NewConversation(system="ü" * (MAX_SYSTEM_BYTES // 2 + 1)))
        name = await new(store)
        async with refused(store, MetadataTooLarge):
            await store.update(ADA, name, Update(metadata=much))

    async def test_an_update_that_expects_another_version_is_refused(self, store: Store) -> None:
        name = await new(store)
        await store.update(ADA, name, Update(title="one"), expected_version=1)
        async with refused(store, StaleVersion) as caught:
            await store.update(ADA, name, Update(title="two"), expected_version=1)
        assert caught.value.version == 2
        await store.update(ADA, name, Update(title="two"), expected_version=2)
        assert (await store.get(ADA, name)).title == "two"

    async def test_an_append_leaves_the_version_and_moves_the_time(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        created_at = clock.now
        await store.append(ADA, name, Append(bodies=(asked("hello"),), expected_version=1))
        clock.advance(7)
        await store.append(ADA, name, Append(bodies=(asked("again"),), expected_version=1))
        conversation = await store.get(ADA, name)
        assert (conversation.version, conversation.head, conversation.entries) == (1, 2, 2)
        assert (conversation.created_at, conversation.updated_at) == (created_at, clock.now)
