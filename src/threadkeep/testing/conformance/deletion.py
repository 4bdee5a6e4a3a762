"""Deletion: hidden at once, kept aside, brought back as it was, purged for good."""

import asyncio
from datetime import timedelta

import pytest

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, ConversationNotFound, LeaseLost, ThreadkeepError
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import (
    ADA,
    BOB,
    EVE,
    MINUTE,
    NO_TIME,
    asked,
    key,
    new,
    run,
    running,
    say,
    settle,
    texts_of,
)
from threadkeep.testing.stores import OpenAnother, everything, whole_log

LARGE = 5_500
"""Entries of a conversation that no backend purges in one step."""


async def _grown(store: Store, name: str) -> str:
    """Make a conversation that has something of everything: a branch, a title, a running turn, text being written."""
    await new(store, ADA, "first words", "an answer", "other words", name=name)
    await say(store, name, "a branch", parent=1)
    await store.update(ADA, name, Update(title="grown", metadata={"a": 1}))
    await store.write(await running(store, name), "m1", 0, "half an ans")
    await run(store, name, "queued")
    return name


async def _seen(store: Store) -> list[object]:
    """Return all that can be seen of Ada's conversations."""
    found = [(hit.conversation, hit.seq) for hit in (await store.search(ADA, "words")).items]
    return [await everything(store, ADA), sorted(found), await store.list("acme"), await store.operations.users("acme")]


@pytest.mark.asyncio
class TestDeletion:
    async def test_a_deleted_conversation_is_gone_with_everything_in_it(self, store: Store, clock: FakeClock) -> None:
        name = await _grown(store, "c")
        await store.delete(ADA, name)
        clock.advance(3600)
        async with refused(store, ConversationNotFound):
            await store.get(ADA, name)
        assert (await store.list(ADA)).items == ()
        assert (await store.list("acme")).items == ()
        assert await store.operations.users("acme") == ()
        assert (await store.search(ADA, "words")).items == ()
        assert await store.operations.expired(MINUTE) == ()
        assert (await store.operations.statistics(ADA.tenant)).conversations == 0
        async with refused(store, ConversationNotFound):
            await store.delete(ADA, name)

    async def test_the_id_of_a_deleted_conversation_can_be_used_again_and_nothing_comes_back(
        self, store: Store, clock: FakeClock
    ) -> None:
        await _grown(store, "again")
        await store.delete(ADA, "again")
        await new(store, ADA, "new things", name="again")
        for purged in (False, True):
            conversation = await store.get(ADA, "again")
            assert (conversation.title, conversation.metadata, conversation.version) == (None, {}, 1)
            entries, draft = await whole_log(store, ADA, "again")
            assert [entry.seq for entry in entries] == [1]
            assert draft is None
            assert await store.turns(ADA, "again") == ()
            assert (await store.search(ADA, "words")).items == ()
            assert len((await store.search(ADA, "things")).items) == 1
            assert await store.operations.purge(NO_TIME) == (0 if purged else 1)

    # Restoring

    async def test_a_restored_conversation_is_as_it_was(
        self, store: Store, open_another: OpenAnother, clock: FakeClock
    ) -> None:
        name = await _grown(store, "c")
        await new(store, ADA, "more words", name="untouched")
        before, conversation = await _seen(store), await store.get(ADA, name)
        await store.delete(ADA, name)
        clock.advance(5)
        other = await open_another()
        assert await other.restore(ADA, name) == conversation
        assert await _seen(store) == before
        assert await _seen(other) == before
        await other.close()

    async def test_a_restored_conversation_goes_on(self, store: Store) -> None:
        await new(store, ADA, "one", "two", name="c")
        await store.delete(ADA, "c")
        await store.restore(ADA, "c")
        (entry,) = await say(store, "c", "three")
        assert (entry.seq, entry.parent) == (3, 2)
        assert texts_of(await store.newest(ADA, "c")) == ["one", "two", "three"]
        assert [hit.seq for hit in (await store.search(ADA, "three")).items] == [3]

    async def test_what_was_never_deleted_cannot_be_restored(self, store: Store) -> None:
        name = await new(store, ADA, "alive")
        for missing in (name, "never-was"):
            async with refused(store, ConversationNotFound):
                await store.restore(ADA, missing)

    async def test_a_conversation_is_restored_once(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        await store.delete(ADA, name)
        await store.restore(ADA, name)
        async with refused(store, ConversationNotFound):
            await store.restore(ADA, name)

    async def test_nobody_else_can_restore_it(self, store: Store) -> None:
        name = await new(store, ADA, "mine")
        await store.delete(ADA, name)
        for scope in (BOB, EVE, Scope(tenant="nobody", user="ada")):
            async with refused(store, ConversationNotFound):
                await store.restore(scope, name)
        assert (await store.restore(ADA, name)).scope == ADA

    @pytest.mark.parametrize("taker", [ADA, BOB])
    async def test_an_id_that_was_used_again_is_not_given_back(self, store: Store, taker: Scope) -> None:
        await new(store, ADA, "old", name="c")
        await store.delete(ADA, "c")
        await new(store, taker, "new", name="c")
        async with refused(store, AlreadyExists):
            await store.restore(ADA, "c")

    async def test_the_one_that_was_deleted_last_comes_back(self, store: Store, clock: FakeClock) -> None:
        for text in ("first", "second", "third"):
            await new(store, ADA, text, name="c")
            await store.delete(ADA, "c")
        for _ in range(2):
            await store.restore(ADA, "c")
            assert texts_of(await store.newest(ADA, "c")) == ["third"]
            await store.delete(ADA, "c")
        assert await store.operations.purge(NO_TIME) == 3

    async def test_two_users_who_used_one_id_get_back_their_own(self, store: Store) -> None:
        for scope in (ADA, BOB):
            await new(store, scope, f"of {scope.user}", name="c")
            await store.delete(scope, "c")
        await store.restore(ADA, "c")
        assert texts_of(await store.newest(ADA, "c")) == ["of ada"]
        async with refused(store, AlreadyExists):
            await store.restore(BOB, "c")
        await store.delete(ADA, "c")
        await store.restore(BOB, "c")
        assert texts_of(await store.newest(BOB, "c")) == ["of bob"]

    async def test_of_many_who_want_the_id_at_once_one_gets_it(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        for _ in range(10):
            await new(store, ADA, "old", name="c")
            await store.delete(ADA, "c")
            results = await asyncio.gather(
                store.restore(ADA, "c"),
                other.restore(ADA, "c"),
                other.create(ADA, NewConversation(id="c")),
                return_exceptions=True,
            )
            lost = [result for result in results if isinstance(result, ThreadkeepError)]
            assert len(lost) == 2
            assert {type(error) for error in lost} <= {AlreadyExists, ConversationNotFound}
            restored = any(isinstance(result, Conversation) for result in results)
            assert texts_of(await store.newest(ADA, "c")) == (["old"] if restored else [])
            await store.delete(ADA, "c")
        await other.close()

    # Turns

    async def test_a_running_turn_is_lost_while_hidden_and_goes_on_when_restored(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "half")
        await store.delete(ADA, name)
        with pytest.raises(LeaseLost):
            await store.write(lease, "m1", 4, " more")
        with pytest.raises(LeaseLost):
            await store.extend(lease, MINUTE)
        await store.restore(ADA, name)
        await store.write(lease, "m1", 4, " more")
        await store.extend(lease, MINUTE)
        _, draft = await whole_log(store, ADA, name)
        assert draft is not None
        assert draft.text == "half more"

    async def test_a_turn_whose_lease_ran_out_while_hidden_is_recovered(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        await run(store, name, "queued")
        await store.delete(ADA, name)
        clock.advance(61)
        assert await store.operations.expired(MINUTE) == ()
        await store.restore(ADA, name)
        (lost,) = await store.operations.expired(MINUTE)
        taken = await store.take(lost, "two", MINUTE)
        with pytest.raises(LeaseLost):
            await store.extend(lease, MINUTE)
        await settle(store, taken)
        (queued,) = await store.operations.expired(MINUTE)
        assert (queued.conversation, queued.owner) == (name, None)

    # Keys

    async def test_the_keys_of_a_restored_conversation_tell_what_they_made(self, store: Store) -> None:
        await store.create(ADA, NewConversation(id="c"), key=key("create"))
        append = Append(bodies=(asked("hi"),), key=key("append"))
        stored = await store.append(ADA, "c", append)
        await store.delete(ADA, "c")
        await store.restore(ADA, "c")
        assert (await store.create(ADA, NewConversation(id="c"), key=key("create"))).replayed
        again = await store.append(ADA, "c", append)
        assert (again.replayed, again.entries) == (True, stored.entries)

    async def test_a_key_that_was_used_again_stays_with_what_it_made_then(self, store: Store) -> None:
        await store.create(ADA, NewConversation(id="old"), key=key("create"))
        await store.delete(ADA, "old")
        await store.create(ADA, NewConversation(id="new"), key=key("create"))
        await store.restore(ADA, "old")
        again = await store.create(ADA, NewConversation(id="other"), key=key("create"))
        assert (again.conversation.id, again.replayed) == ("new", True)
        await store.delete(ADA, "old")
        again = await store.create(ADA, NewConversation(id="other"), key=key("create"))
        assert (again.conversation.id, again.replayed) == ("new", True)

    # Purging

    async def test_a_purge_takes_what_was_deleted_long_enough_ago(self, store: Store, clock: FakeClock) -> None:
        for name in ("first", "second", "kept"):
            await _grown(store, name)
        await new(store, EVE, "of another tenant", name="first")
        await store.delete(ADA, "first")
        await store.delete(EVE, "first")
        clock.advance(10)
        await store.delete(ADA, "second")
        before = await _seen(store)
        assert await store.operations.purge(timedelta(seconds=10)) == 2
        assert await store.operations.purge(timedelta(seconds=10)) == 0
        assert await _seen(store) == before
        for scope in (ADA, EVE):
            async with refused(store, ConversationNotFound):
                await store.restore(scope, "first")
        assert (await store.restore(ADA, "second")).title == "grown"
        assert await store.operations.purge(NO_TIME) == 0
        assert (await store.get(ADA, "kept")).title == "grown"

    async def test_time_counts_from_the_last_deletion(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "hello")
        await store.delete(ADA, name)
        clock.advance(60)
        await store.restore(ADA, name)
        await store.delete(ADA, name)
        assert await store.operations.purge(timedelta(microseconds=1)) == 0
        assert await store.operations.purge(NO_TIME) == 1

    async def test_a_purge_for_one_user_leaves_what_others_deleted(self, store: Store) -> None:
        for scope in (ADA, BOB, EVE):
            await store.delete(scope, await new(store, scope, "words", name=f"of-{scope.tenant}-{scope.user}"))
        assert await store.operations.purge(NO_TIME, owner=Scope(tenant="acme", user="nobody")) == 0
        assert await store.operations.purge(NO_TIME, owner=ADA) == 1
        with pytest.raises(ConversationNotFound):
            await store.restore(ADA, "of-acme-ada")
        for scope in (BOB, EVE):
            await store.restore(scope, f"of-{scope.tenant}-{scope.user}")
            assert len((await store.search(scope, "words")).items) == 1
        assert await store.operations.purge(NO_TIME) == 0

    async def test_whoever_has_nothing_left_comes_back_under_the_same_name_to_all(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        for each in (store, other):
            name = await new(store, ADA, "hello")
            assert [item.id for item in (await other.list(ADA)).items] == [name]
            await store.delete(ADA, name)
            assert await each.operations.purge(NO_TIME) == 1
            assert await store.operations.users("acme") == ()
            again = await new(other, ADA, "hello again")
            for one in (store, other):
                assert [item.id for item in (await one.list(ADA)).items] == [again]
                assert await one.operations.users("acme") == ("ada",)
            await other.delete(ADA, again)
            assert await other.operations.purge(NO_TIME, owner=ADA) == 1
        await other.close()

    async def test_a_large_conversation_is_purged_and_its_neighbours_stay(self, store: Store, clock: FakeClock) -> None:
        large = await new(store, ADA)
        for _ in range(LARGE // 500):
            await say(store, large, *["many words"] * 500)
        kept = await new(store, ADA, "few words")
        await store.delete(ADA, large)
        assert await store.operations.purge(NO_TIME) == 1
        assert [hit.conversation for hit in (await store.search(ADA, "words")).items] == [kept]
        await say(store, kept, "other words")
        assert len((await store.search(ADA, "words")).items) == 2
        assert (await store.operations.statistics("acme")).entries == 2

    async def test_what_is_restored_while_others_purge_is_whole_or_gone(
        self, store: Store, open_another: OpenAnother, clock: FakeClock
    ) -> None:
        other = await open_another()
        for at in range(10):
            name = await new(store, ADA, "one", "two", name=f"c{at}")
            await store.delete(ADA, name)
            restored, *purged = await asyncio.gather(
                store.restore(ADA, name),
                other.operations.purge(NO_TIME),
                store.operations.purge(NO_TIME),
                return_exceptions=True,
            )
            if isinstance(restored, ConversationNotFound):
                assert sorted(map(str, purged)) == ["0", "1"]
                continue
            assert purged == [0, 0]
            assert texts_of(await other.newest(ADA, name)) == ["one", "two"]
        await other.close()
