"""Leases: who may write for a turn, for how long, and what happens when another takes it up."""

import pytest

from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import LeaseLost, ThreadkeepError
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, answered, new, run, running, settle
from threadkeep.testing.stores import OpenAnother, whole_log


async def _cannot_write(store: Store, lease: Lease, error: type[ThreadkeepError] = LeaseLost) -> None:
    """Check that nothing can be done with this lease."""
    message = Append(bodies=(answered("a zombie speaks"),), lease=lease)
    async with refused(store, error):
        await store.append(lease.scope, lease.conversation, message)
    async with refused(store, error):
        await settle(store, lease)
    async with refused(store, error):
        await store.write(lease, "m1", 0, "a zombie")
    async with refused(store, error):
        await store.extend(lease, MINUTE)


@pytest.mark.asyncio
class TestLeases:
    async def test_a_queued_turn_that_nobody_started_is_listed_behind_the_lost_ones(
        self, store: Store, clock: FakeClock
    ) -> None:
        stranded, lost = await new(store), await new(store)
        lease = await running(store, stranded)
        queued = [(await run(store, stranded, text)).turn for text in ("second", "third")]
        await running(store, lost)
        assert await store.operations.expired(MINUTE) == ()
        await settle(store, lease, answered("first"))
        expired = await store.operations.expired(MINUTE)
        assert [(turn.conversation, turn.number) for turn in expired] == [(stranded, queued[0])]
        clock.advance(61)
        expired = await store.operations.expired(MINUTE)
        assert [turn.conversation for turn in expired] == [lost, stranded]
        assert expired[1].state is TurnState.QUEUED
        await store.start(ADA, stranded, "two", MINUTE)
        assert [turn.conversation for turn in await store.operations.expired(MINUTE)] == [lost]

    async def test_a_lease_that_runs_out_is_listed_the_longest_ago_first(self, store: Store, clock: FakeClock) -> None:
        names = []
        for scope in (ADA, EVE, BOB):
            names.append(await new(store, scope))
            await running(store, names[-1], scope=scope)
            clock.advance(1)
        assert await store.operations.expired(MINUTE) == ()
        clock.advance(30)
        assert await store.operations.expired(MINUTE) == ()
        clock.advance(60)
        expired = await store.operations.expired(MINUTE)
        assert [(turn.scope, turn.conversation) for turn in expired] == list(zip((ADA, EVE, BOB), names, strict=True))
        assert expired[:1] == await store.turns(ADA, names[0])
        assert await store.operations.expired(MINUTE, limit=2) == expired[:2]

    async def test_an_owner_whose_clock_was_an_hour_ahead_leaves_no_turn_open_for_longer_than_others(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store)
        clock.jump(3600)
        lease = await running(store, name)
        await store.extend(lease, MINUTE)
        clock.jump(-3600)
        clock.advance(61)
        (seen,) = await store.operations.expired(MINUTE)
        clock.jump(3600)
        await store.take(seen, "two", MINUTE)
        clock.jump(-3600)
        clock.advance(61)
        assert [turn.fence for turn in await store.operations.expired(MINUTE)] == [seen.fence + 1]

    async def test_an_extended_lease_holds_from_now_on(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        clock.advance(50)
        await store.extend(lease, MINUTE)
        (turn,) = await store.turns(ADA, name)
        assert turn.until == clock.now + MINUTE
        clock.advance(59)
        assert await store.operations.expired(MINUTE) == ()
        clock.advance(2)
        assert [turn.number for turn in await store.operations.expired(MINUTE)] == [lease.turn]

    async def test_extending_a_lease_is_not_an_entry(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        before = await whole_log(store, ADA, name)
        await store.extend(lease, 2 * MINUTE)
        assert await whole_log(store, ADA, name) == before

    async def test_a_lease_that_has_run_out_still_writes_until_another_takes_the_turn(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store)
        lease = await running(store, name)
        clock.advance(3600)
        await store.write(lease, "m1", 0, "late")
        await store.extend(lease, MINUTE)
        assert await store.operations.expired(MINUTE) == ()
        await settle(store, lease, answered("late").model_copy(update={"id": "m1"}))

    async def test_who_takes_up_a_turn_shuts_out_its_former_owner(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        former = await running(store, name)
        clock.advance(61)
        other = await open_another()
        (seen,) = await other.operations.expired(MINUTE)
        lease = await other.take(seen, "two", MINUTE)
        assert lease.fence > former.fence
        assert (lease.scope, lease.conversation, lease.turn, lease.owner) == (ADA, name, former.turn, "two")
        await _cannot_write(store, former)
        assert await store.operations.expired(MINUTE) == ()
        await settle(other, lease, answered("the answer"))
        await _cannot_write(store, former)
        await _cannot_write(store, lease)
        await other.close()

    async def test_text_written_while_another_process_knew_the_log_without_it_is_finished_once(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        former = await running(store, name)
        other = await open_another()
        await run(other, name, "queued before the first text")
        await store.write(former, "m1", 0, "half")
        clock.advance(61)
        seen = next(turn for turn in await other.operations.expired(MINUTE) if turn.number == former.turn)
        lease = await other.take(seen, "two", MINUTE)
        half = answered("half").model_copy(update={"id": "m1"})
        await other.append(ADA, name, Append(bodies=(half,), lease=lease))
        assert (await whole_log(store, ADA, name))[1] is None
        await other.write(lease, "m2", 0, "whole")
        await settle(other, lease, answered("whole").model_copy(update={"id": "m2"}))
        assert (await other.start(ADA, name, "two", MINUTE)) is not None
        await other.close()

    async def test_taking_up_a_turn_is_an_entry_and_is_counted(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await running(store, name)
        for count in (1, 2, 3):
            clock.advance(61)
            (seen,) = await store.operations.expired(MINUTE)
            lease = await store.take(seen, f"owner-{count}", MINUTE)
            (turn,) = await store.turns(ADA, name)
            assert (turn.fence, turn.owner) == (lease.fence, f"owner-{count}")
            assert (turn.state, turn.until) == (TurnState.RUNNING, clock.now + MINUTE)
            entry = (await whole_log(store, ADA, name))[0][-1]
            assert (entry.seq, entry.turn) == (2 + count, lease.turn)
            assert isinstance(entry.body, TurnChange)
            assert entry.body.state is TurnState.RUNNING

    async def test_a_turn_is_taken_up_by_one_only(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await running(store, name)
        clock.advance(61)
        (seen,) = await store.operations.expired(MINUTE)
        await store.take(seen, "two", MINUTE)
        async with refused(store, LeaseLost):
            await store.take(seen, "three", MINUTE)

    async def test_a_settled_turn_cannot_be_taken_up(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        (seen,) = await store.turns(ADA, name)
        await settle(store, lease, answered("done"))
        async with refused(store, LeaseLost):
            await store.take(seen, "two", MINUTE)

    async def test_a_turn_that_waits_since_it_was_seen_cannot_be_taken_up(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        (seen,) = await store.turns(ADA, name)
        await settle(store, lease, answered("may I?"), state=TurnState.WAITING)
        (waiting,) = await store.turns(ADA, name)
        taken = await store.take(waiting, "two", MINUTE)
        async with refused(store, LeaseLost):
            await store.take(seen, "three", MINUTE)
        await _cannot_write(store, lease)
        await settle(store, taken)

    async def test_a_lease_with_another_fence_owner_or_turn_is_refused(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        changes: list[dict[str, object]] = [
            {"fence": lease.fence + 1},
            {"fence": lease.fence - 1},
            {"owner": "somebody"},
            {"turn": lease.turn + 1},
            {"turn": 2**70},
            {"fence": 2**70},
        ]
        for change in changes:
            await _cannot_write(store, lease.model_copy(update=change))
        await settle(store, lease)

    async def test_a_lease_is_good_for_its_own_conversation_only(self, store: Store) -> None:
        mine, theirs = await new(store), await new(store)
        lease = await running(store, mine)
        await running(store, theirs)
        message = Append(bodies=(answered("astray"),), lease=lease)
        async with refused(store, LeaseLost):
            await store.append(ADA, theirs, message)

    async def test_the_lease_of_a_deleted_conversation_is_lost(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        (seen,) = await store.turns(ADA, name)
        await store.delete(ADA, name)
        async with refused(store, LeaseLost):
            await store.write(lease, "m1", 0, "x")
        async with refused(store, LeaseLost):
            await store.extend(lease, MINUTE)
        async with refused(store, LeaseLost):
            await store.take(seen, "two", MINUTE)
        clock.advance(3600)
        assert await store.operations.expired(MINUTE) == ()
