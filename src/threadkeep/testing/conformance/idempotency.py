"""Idempotency keys: a repeated request is answered like the first time and does nothing."""

import asyncio
from dataclasses import replace

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.state import State
from threadkeep.errors import AlreadyExists, ConversationBusy, InvalidParent, KeyReused, StaleHead
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, answered, asked, key, new, running, say, settle
from threadkeep.testing.stores import OpenAnother, everything, whole_log


@pytest.mark.asyncio
class TestIdempotency:
    async def test_a_repeated_create_finds_the_conversation_as_it_is_now(self, store: Store, clock: FakeClock) -> None:
        first = await store.create(ADA, NewConversation(title="one"), key=key("k", {"title": "one"}))
        await say(store, first.conversation.id, "hello")
        await store.update(ADA, first.conversation.id, Update(title="renamed"))
        clock.advance(86_400)
        before = await everything(store, ADA)
        again = await store.create(ADA, NewConversation(title="one"), key=key("k", {"title": "one"}))
        assert (first.replayed, again.replayed) == (False, True)
        assert again.conversation == await store.get(ADA, first.conversation.id)
        assert await everything(store, ADA) == before

    async def test_a_repeated_create_with_an_id_is_no_conflict_with_itself(self, store: Store) -> None:
        for replayed in (False, True):
            created = await store.create(ADA, NewConversation(id="mine"), key=key("k"))
            assert (created.conversation.id, created.replayed) == ("mine", replayed)
        async with refused(store, AlreadyExists):
            await store.create(ADA, NewConversation(id="mine"), key=key("another"))

    async def test_a_repeated_append_returns_the_entries_of_the_first_time(self, store: Store) -> None:
        name = await new(store, ADA, "before")
        append = Append(bodies=(asked("one"), answered("two")), expected_head=1, key=key("k"))
        first = await store.append(ADA, name, append)
        await say(store, name, "meanwhile")
        await store.choose_head(ADA, name, 1)
        before = await everything(store, ADA)
        again = await store.append(ADA, name, append)
        assert (again.entries, again.replayed) == (first.entries, True)
        assert not first.replayed
        assert await everything(store, ADA) == before

    async def test_a_repeated_append_of_a_state_change_raises_the_version_once(self, store: Store) -> None:
        name = await new(store)
        append = Append(bodies=(State().change({"a": 1}),), expected_version=1, key=key("k"))
        first = await store.append(ADA, name, append)
        assert (await store.append(ADA, name, append)).entries == first.entries
        assert (await store.get(ADA, name)).version == 2

    async def test_a_repeated_begin_returns_the_turn_without_its_lease(self, store: Store) -> None:
        name = await new(store)
        begin = Begin(message=asked("hi"), owner="one", lease_for=MINUTE, key=key("k"))
        first = await store.begin(ADA, name, begin)
        again = await store.begin(ADA, name, begin)
        assert (again.turn, again.entries, again.lease, again.replayed) == (first.turn, first.entries, None, True)
        assert first.lease is not None
        await settle(store, first.lease, answered("done"))
        later = await store.begin(ADA, name, begin)
        assert (later.turn, later.entries, later.replayed) == (first.turn, first.entries, True)
        assert await store.turns(ADA, name) == ()

    async def test_a_repeated_begin_of_a_queued_turn_returns_it_also_once_it_runs(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        begin = Begin(message=asked("hi"), owner="one", lease_for=MINUTE, key=key("k"), when_busy="queue")
        first = await store.begin(ADA, name, begin)
        await settle(store, lease, answered("done"))
        await store.start(ADA, name, "one", MINUTE)
        before = await everything(store, ADA)
        again = await store.begin(ADA, name, begin)
        assert (again.turn, again.entries, again.replayed) == (first.turn, first.entries, True)
        assert await everything(store, ADA) == before

    async def test_a_repeated_settle_is_answered_although_the_lease_is_gone(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        append = Append(bodies=(answered("done"),), lease=lease, key=key("k"))
        first = await store.append(ADA, name, append)
        await settle(store, lease)
        assert (await store.append(ADA, name, append)).entries == first.entries

    async def test_a_key_with_another_body_is_refused(self, store: Store) -> None:
        name = await new(store)
        await store.create(ADA, NewConversation(), key=key("create", "one"))
        await store.append(ADA, name, Append(bodies=(asked("one"),), key=key("append", "one")))
        begin = Begin(message=asked("one"), owner="one", lease_for=MINUTE, key=key("begin", "one"))
        await store.begin(ADA, name, begin)
        async with refused(store, KeyReused):
            await store.create(ADA, NewConversation(), key=key("create", "two"))
        async with refused(store, KeyReused):
            await store.append(ADA, name, Append(bodies=(asked("two"),), key=key("append", "two")))
        async with refused(store, KeyReused):
            await store.begin(ADA, name, replace(begin, key=key("begin", "two")))

    async def test_a_key_is_of_one_route_user_and_tenant(self, store: Store) -> None:
        names = {scope: await new(store, scope) for scope in (ADA, BOB, EVE)}
        for scope, name in names.items():
            for route in ("POST /one", "POST /two"):
                append = Append(bodies=(asked("hi"),), key=key("k", scope.user + scope.tenant, route=route))
                assert not (await store.append(scope, name, append)).replayed
                assert (await store.append(scope, name, append)).replayed
        assert [(await store.get(scope, name)).entries for scope, name in names.items()] == [2, 2, 2]

    async def test_a_refused_request_does_not_use_up_its_key(self, store: Store) -> None:
        name = await new(store, ADA, "one")
        append = Append(bodies=(asked("two"),), key=key("append"))
        async with refused(store, StaleHead):
            await store.append(ADA, name, replace(append, expected_head=7))
        async with refused(store, InvalidParent):
            await store.append(ADA, name, replace(append, parent=7))
        assert not (await store.append(ADA, name, append)).replayed
        await running(store, name)
        begin = Begin(message=asked("x"), owner="one", lease_for=MINUTE, key=key("begin"), when_busy="reject")
        async with refused(store, ConversationBusy):
            await store.begin(ADA, name, begin)
        assert not (await store.begin(ADA, name, replace(begin, when_busy="queue"))).replayed
        await new(store, name="taken")
        async with refused(store, AlreadyExists):
            await store.create(ADA, NewConversation(id="taken"), key=key("create"))
        assert not (await store.create(ADA, NewConversation(id="free"), key=key("create"))).replayed

    async def test_the_keys_of_a_deleted_conversation_are_free_again(self, store: Store) -> None:
        for _ in range(2):
            created = await store.create(ADA, NewConversation(id="again"), key=key("create"))
            assert not created.replayed
            append = Append(bodies=(asked("hi"),), key=key("append"))
            assert not (await store.append(ADA, "again", append)).replayed
            await store.delete(ADA, "again")

    async def test_of_appends_with_one_key_at_once_through_two_handles_one_is_stored(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        other = await open_another()
        append = Append(bodies=(asked("once"),), key=key("k"))
        appended = await asyncio.gather(*(handle.append(ADA, name, append) for handle in (store, other) * 5))
        assert sorted(one.replayed for one in appended) == [False] + [True] * 9
        assert [one.entries for one in appended] == [(await whole_log(store, ADA, name))[0]] * 10
        await other.close()

    async def test_of_creates_with_one_key_at_once_through_two_handles_one_is_stored(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        created = await asyncio.gather(
            *(handle.create(ADA, NewConversation(), key=key("k")) for handle in (store, other) * 5)
        )
        assert sorted(one.replayed for one in created) == [False] + [True] * 9
        assert len({one.conversation.id for one in created}) == 1
        assert len((await store.list(ADA)).items) == 1
        await other.close()
