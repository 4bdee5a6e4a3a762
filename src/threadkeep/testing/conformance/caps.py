"""Caps: how much a user and a tenant may keep. They hold for what is just coming, and for many who come at once."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry, Summary, Update
from threadkeep.conversation.facts import Status
from threadkeep.errors import QueueFull, StorageFull, ThreadkeepError, TooManyConversations
from threadkeep.store.base import Store
from threadkeep.store.caps import Caps, Holder, Load
from threadkeep.store.values import Append, Import, Statistics
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, answered, asked, new, run, running, say, settle
from threadkeep.testing.stores import OpenAnother

LONG = "x" * 500


async def _outcomes(waiting: Iterable[Awaitable[Any]]) -> list[type[BaseException] | None]:
    """Wait for all; return which error each ended with."""
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, ThreadkeepError) for result in results if isinstance(result, BaseException))
    return [type(result) if isinstance(result, BaseException) else None for result in results]


@pytest.mark.asyncio
class TestCaps:
    async def test_what_is_just_coming_counts(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        store.operations.caps = Caps(user=Load(bytes=400))
        said = Append(bodies=(asked(LONG),))
        entry = Entry(conversation="other", seq=1, parent=None, created_at=clock.now, body=asked(LONG))
        brought = (
            lambda: store.append(ADA, name, said),
            lambda: run(store, name, LONG),
            lambda: store.update(ADA, name, Update(metadata={"much": LONG})),
            lambda: store.update(ADA, name, Update(title=LONG)),
            lambda: store.create(ADA, NewConversation(metadata={"much": LONG})),
            lambda: store.create(ADA, NewConversation(system=LONG)),
            lambda: store.create(ADA, NewConversation(title=LONG)),
        )
        for bring in brought:
            async with refused(store, StorageFull):
                await bring()
        imported = Import(new=NewConversation(id="other"), created_at=clock.now, entries=(entry,))
        with pytest.raises(StorageFull):
            await store.import_entries(ADA, imported)
        assert (await store.operations.statistics("acme")).bytes <= 400
        await say(store, name, "what fits")
        await say(store, await new(store, BOB), "x" * 400, scope=BOB)

    async def test_of_many_who_send_at_once_as_many_are_taken_as_fit(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        names = [await new(store) for _ in range(8)]
        store.operations.caps, other.operations.caps = Caps(user=Load(bytes=2600)), Caps(user=Load(bytes=2600))
        said = Append(bodies=(asked(LONG),))
        handles = (store, other) * 4
        outcomes = await _outcomes(handle.append(ADA, name, said) for handle, name in zip(handles, names, strict=True))
        assert sorted(map(str, outcomes)) == sorted(map(str, [None] * 5 + [StorageFull] * 3))
        assert (await store.operations.statistics("acme", user="ada")).bytes == 2500
        await other.close()

    async def test_of_many_who_create_at_once_as_many_are_taken_as_may_be(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        store.operations.caps, other.operations.caps = Caps(user=Load(5)), Caps(user=Load(5))
        outcomes = await _outcomes(handle.create(ADA, NewConversation()) for handle in (store, other) * 6)
        assert outcomes.count(None) == 5
        assert outcomes.count(TooManyConversations) == 7
        assert (await store.operations.statistics("acme")).conversations == 5
        await other.close()

    async def test_what_was_acknowledged_elsewhere_is_taken_whatever_the_caps(self, store: Store) -> None:
        store.operations.caps = Caps(user=Load(1, 10))
        await new(store)
        kept = await store.create(ADA, NewConversation(title=LONG), within_caps=False)
        assert (await store.get(ADA, kept.conversation.id)).title == LONG

    async def test_a_tenant_has_caps_of_its_own(self, store: Store) -> None:
        store.operations.caps = Caps(tenant=Load(2, 1000))
        name = await new(store)
        theirs = await new(store, BOB)
        async with refused(store, TooManyConversations):
            await store.create(ADA, NewConversation())
        await new(store, EVE)
        outcomes = await _outcomes(
            say(store, of, "x" * 400, scope=scope) for scope, of in ((ADA, name), (BOB, theirs)) * 2
        )
        assert outcomes.count(None) == outcomes.count(StorageFull) == 2

    async def test_who_deletes_has_room_at_once_and_gets_back_what_still_fits(self, store: Store) -> None:
        store.operations.caps = Caps(user=Load(1, 1000))
        first = await new(store, ADA, LONG)
        async with refused(store, TooManyConversations):
            await store.create(ADA, NewConversation())
        await store.delete(ADA, first)
        second = await new(store, ADA, LONG)
        async with refused(store, TooManyConversations):
            await store.restore(ADA, first, within_caps=True)
        await store.delete(ADA, second)
        await store.restore(ADA, first, within_caps=True)
        await store.restore(ADA, second)

    async def test_what_was_accepted_is_answered_and_what_takes_no_room_is_done(self, store: Store) -> None:
        name = await new(store)
        store.operations.caps = Caps(user=Load(bytes=400))
        lease = await running(store, name)
        await run(store, name, "queued")
        await store.write(lease, "m1", 0, LONG)
        await settle(store, lease, answered(LONG).model_copy(update={"id": "m1"}))
        assert await store.start(ADA, name, "one", MINUTE) is not None
        async with refused(store, StorageFull):
            await run(store, name, "one more")
        await store.append(ADA, name, Append(bodies=(Summary(content=LONG),)))
        await store.update(ADA, name, Update(status=Status.COMPLETED, archived=True))
        await store.choose_head(ADA, name, 1)

    async def test_a_conversation_that_is_far_from_its_cap_is_counted_now_and_then_only(self, store: Store) -> None:
        seconds, counted = [0.0], list[str | None]()

        class Counting(Caps):
            def check(self, holder: Holder, kept: Statistics, brought: Load) -> bool:
                counted.append(holder.user)
                return super().check(holder, kept, brought)

        store.operations.caps = Counting(user=Load(1_000_000, 1024**4), clock=lambda: seconds[0])
        name = await new(store)
        for _ in range(3):
            await say(store, name, "hello")
        assert counted == ["ada"]
        seconds[0] += 1000
        await new(store)
        assert counted == ["ada"] * 2


@pytest.mark.asyncio
class TestQueues:
    async def test_only_so_many_turns_wait_in_a_conversation(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        name = await new(store)
        store.operations.caps, other.operations.caps = Caps(queued_turns=3), Caps(queued_turns=3)
        await run(store, name, "runs")
        outcomes = await _outcomes(run(handle, name, "waits") for handle in (store, other) * 4)
        assert outcomes.count(None) == 3
        assert outcomes.count(QueueFull) == 5
        assert len(await store.turns(ADA, name)) == 4
        await store.withdraw(ADA, name, (await store.turns(ADA, name))[-1].number)
        await run(store, name, "waits again")
        async with refused(store, QueueFull):
            await run(store, name, "too many")
        await other.close()
