"""Turns: begin, queue, start, settle, wait."""

import asyncio

import pytest

from threadkeep.conversation.message import Usage
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.errors import ConversationBusy, DraftMismatch, InvalidParent, LeaseLost, StaleHead, TurnNotFound
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, MINUTE, answered, asked, new, run, running, say, settle, texts_of
from threadkeep.testing.stores import OpenAnother, whole_log

FINAL = (TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED, TurnState.INTERRUPTED)


@pytest.mark.asyncio
class TestTurns:
    async def test_a_turn_begins_with_its_message_and_an_entry_that_it_runs(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store, ADA, "before")
        message = asked("a question")
        begun = await store.begin(ADA, name, Begin(message=message, owner="one", lease_for=MINUTE))
        assert [(entry.seq, entry.parent, entry.turn) for entry in begun.entries] == [(2, 1, 2), (3, 2, 2)]
        assert [entry.body for entry in begun.entries] == [message, TurnChange(state=TurnState.RUNNING)]
        assert (begun.turn, begun.replayed) == (2, False)
        assert begun.lease is not None
        assert (begun.lease.scope, begun.lease.conversation, begun.lease.turn) == (ADA, name, 2)
        assert begun.lease.owner == "one"
        (turn,) = await store.turns(ADA, name)
        assert (turn.scope, turn.conversation, turn.number, turn.state) == (ADA, name, 2, TurnState.RUNNING)
        assert (turn.owner, turn.fence, turn.until) == ("one", begun.lease.fence, clock.now + MINUTE)
        assert (await store.get(ADA, name)).head == 2
        assert (await whole_log(store, ADA, name))[0][1:] == begun.entries

    async def test_a_queued_turn_can_be_taken_back_and_no_other(self, store: Store) -> None:
        name = await new(store, ADA)
        first, second, third = [
            (await store.begin(ADA, name, Begin(message=asked(text), owner="one", lease_for=MINUTE))).turn
            for text in ("first", "second", "third")
        ]
        await store.withdraw(ADA, name, second)
        assert [turn.number for turn in await store.turns(ADA, name)] == [first, third]
        newest = (await whole_log(store, ADA, name))[0][-1]
        assert (newest.turn, newest.body) == (second, TurnChange(state=TurnState.CANCELLED))
        for turn in (first, second, 99):
            async with refused(store, TurnNotFound):
                await store.withdraw(ADA, name, turn)
        (running_turn, _) = await store.turns(ADA, name)
        await settle(store, await store.take(running_turn, "one", MINUTE), answered("done"))
        begun = await store.start(ADA, name, "one", MINUTE)
        assert begun is not None
        assert begun.turn == third

    async def test_a_turn_can_begin_a_branch(self, store: Store) -> None:
        name = await new(store, ADA, *"1234")
        begin = Begin(message=asked("instead"), parent=1, owner="one", lease_for=MINUTE)
        begun = await store.begin(ADA, name, begin)
        assert begun.entries[0].parent == 1
        assert texts_of(await store.newest(ADA, name)) == ["1", "instead"]

    async def test_a_turn_can_begin_at_the_root(self, store: Store) -> None:
        name = await new(store, ADA, "1", "2")
        begin = Begin(message=asked("instead"), parent=ROOT, owner="one", lease_for=MINUTE)
        assert (await store.begin(ADA, name, begin)).entries[0].parent is None

    async def test_a_turn_without_a_message_answers_an_entry_again(self, store: Store) -> None:
        name = await new(store, ADA, "question", "first answer")
        begun = await store.begin(ADA, name, Begin(parent=1, owner="one", lease_for=MINUTE))
        assert [(entry.seq, entry.parent, entry.turn, entry.body) for entry in begun.entries] == [
            (3, 1, 3, TurnChange(state=TurnState.RUNNING))
        ]
        assert (await store.get(ADA, name)).head == 1
        assert begun.lease is not None
        await settle(store, begun.lease, answered("second answer"))
        assert texts_of(await store.newest(ADA, name)) == ["question", "second answer"]
        assert ((await store.snapshot(ADA, name)).tree).siblings(4, 1) == (2, 4)

    async def test_a_turn_at_no_entry_of_a_branch_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        await settle(store, await running(store, name))
        for parent in (3, 99, -1, 2**70):
            async with refused(store, InvalidParent):
                await store.begin(ADA, name, Begin(message=asked("x"), parent=parent, owner="one", lease_for=MINUTE))

    async def test_a_second_turn_is_queued_and_keeps_its_message(self, store: Store) -> None:
        name = await new(store)
        await running(store, name)
        message = asked("meanwhile")
        queued = await store.begin(ADA, name, Begin(message=message, owner="two", lease_for=MINUTE))
        assert queued.lease is None
        (entry,) = queued.entries
        assert entry.body == TurnChange(state=TurnState.QUEUED, message=message)
        assert (entry.seq, entry.turn, queued.turn) == (3, 3, 3)
        assert not entry.continues_branch
        assert texts_of(await store.newest(ADA, name)) == ["hello"]
        turns = await store.turns(ADA, name)
        assert [(turn.number, turn.state) for turn in turns] == [(1, TurnState.RUNNING), (3, TurnState.QUEUED)]
        assert (turns[1].owner, turns[1].until) == (None, None)

    async def test_a_second_turn_can_be_refused_instead(self, store: Store) -> None:
        name = await new(store)
        begin = Begin(message=asked("x"), owner="two", lease_for=MINUTE, when_busy="reject")
        lease = await running(store, name)
        async with refused(store, ConversationBusy):
            await store.begin(ADA, name, begin)
        await settle(store, lease, answered("done"))
        assert (await store.begin(ADA, name, begin)).lease is not None

    async def test_a_turn_that_expects_another_head_is_refused_running_or_queued(self, store: Store) -> None:
        name = await new(store, ADA, "1", "2")
        stale = Begin(message=asked("x"), expected_head=1, owner="one", lease_for=MINUTE)
        async with refused(store, StaleHead) as caught:
            await store.begin(ADA, name, stale)
        assert caught.value.head == 2
        await running(store, name)
        async with refused(store, StaleHead) as caught:
            await store.begin(ADA, name, stale)
        assert caught.value.head == 3
        fresh = Begin(message=asked("x"), expected_head=3, owner="one", lease_for=MINUTE)
        assert (await store.begin(ADA, name, fresh)).lease is None

    async def test_a_queued_turn_starts_where_the_head_is_then(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        queued = await run(store, name, "second")
        await run(store, name, "third")
        assert await store.start(ADA, name, "two", MINUTE) is None
        await settle(store, lease, answered("first answer"))
        head = (await store.get(ADA, name)).head
        clock.advance(5)
        started = await store.start(ADA, name, "two", MINUTE)
        assert started is not None
        assert started.turn == queued.turn
        assert [(entry.parent, entry.turn) for entry in started.entries] == [
            (head, queued.turn),
            (started.entries[0].seq, queued.turn),
        ]
        waiting = queued.entries[0].body
        assert isinstance(waiting, TurnChange)
        assert waiting.message == started.entries[0].body
        assert started.entries[1].body == TurnChange(state=TurnState.RUNNING)
        assert started.lease is not None
        assert (started.lease.owner, started.lease.turn) == ("two", queued.turn)
        assert texts_of(await store.newest(ADA, name)) == ["hello", "first answer", "second"]
        turns = await store.turns(ADA, name)
        assert [turn.state for turn in turns] == [TurnState.RUNNING, TurnState.QUEUED]
        assert turns[0].until == clock.now + MINUTE

    async def test_a_queued_turn_starts_at_the_entry_that_it_names(self, store: Store) -> None:
        name = await new(store, ADA, "question", "first answer")
        lease = await running(store, name)
        message = asked("instead")
        for begin in (
            Begin(message=message, parent=1, owner="one", lease_for=MINUTE),
            Begin(parent=1, owner="one", lease_for=MINUTE),
            Begin(message=message, parent=ROOT, owner="one", lease_for=MINUTE),
        ):
            (entry,) = (await store.begin(ADA, name, begin)).entries
            assert entry.body == TurnChange(state=TurnState.QUEUED, message=begin.message, parent=begin.parent)
            assert entry.parent == (begin.parent or None)
        async with refused(store, InvalidParent):
            await store.begin(ADA, name, Begin(message=message, parent=99, owner="one", lease_for=MINUTE))
        parents = []
        for _ in range(3):
            await settle(store, lease, answered("an answer"))
            started = await store.start(ADA, name, "one", MINUTE)
            assert started is not None
            assert started.lease is not None
            lease = started.lease
            parents.append(started.entries[0].parent)
            assert (await store.get(ADA, name)).head == (started.entries[0].seq if len(started.entries) > 1 else 1)
        assert parents == [1, 1, None]

    async def test_queued_turns_start_in_their_order(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        for text in ("second", "third"):
            await run(store, name, text)
        for _ in range(2):
            await settle(store, lease, answered("answer"))
            started = await store.start(ADA, name, "one", MINUTE)
            assert started is not None
            assert started.lease is not None
            lease = started.lease
        await settle(store, lease, answered("answer"))
        assert await store.start(ADA, name, "one", MINUTE) is None
        assert texts_of(await store.newest(ADA, name))[::2] == ["hello", "second", "third"]

    async def test_a_new_turn_queues_behind_those_that_are_queued(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await run(store, name, "second")
        await settle(store, lease, answered("answer"))
        assert (await run(store, name, "third")).lease is None
        started = await store.start(ADA, name, "one", MINUTE)
        assert started is not None
        assert texts_of(started.entries) == ["second"]

    async def test_settling_ends_a_turn_in_the_same_step_as_its_last_message(self, store: Store) -> None:
        for state in FINAL:
            name = await new(store)
            lease = await running(store, name)
            failure = Failure(code="code", detail="d\x00")
            end = TurnChange(state=state, usage=Usage(input_tokens=3), failure=failure, detail="why\x00")
            append = Append(bodies=(answered("the answer"),), lease=lease, settle=end)
            stored = (await store.append(ADA, name, append)).entries
            assert [(entry.seq, entry.parent, entry.turn) for entry in stored] == [(3, 1, 1), (4, 3, 1)]
            assert stored[1].body == end
            assert await store.turns(ADA, name) == ()
            assert (await store.get(ADA, name)).head == 3
            assert (await whole_log(store, ADA, name))[0][2:] == stored

    async def test_a_turn_can_be_settled_without_a_word(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        (entry,) = await settle(store, lease, state=TurnState.CANCELLED)
        assert (entry.seq, entry.parent, entry.turn) == (3, 1, 1)
        assert (await store.get(ADA, name)).head == 1
        assert (await run(store, name)).lease is not None

    async def test_what_is_appended_with_a_lease_belongs_to_the_turn(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        with_lease = (await store.append(ADA, name, Append(bodies=(answered("a"),), lease=lease))).entries
        assert [entry.turn for entry in with_lease] == [1]
        assert [entry.turn for entry in await say(store, name, "an aside")] == [None]

    async def test_an_append_without_a_lease_never_conflicts_with_a_running_turn(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await say(store, name, "an aside")
        await settle(store, lease, answered("the answer"))
        assert texts_of(await store.newest(ADA, name)) == ["hello", "an aside", "the answer"]

    async def test_a_waiting_turn_holds_no_lease_and_keeps_others_waiting(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        lease = await running(store, name)
        await settle(store, lease, answered("may I?"), state=TurnState.WAITING)
        (turn,) = await store.turns(ADA, name)
        assert (turn.state, turn.owner, turn.until) == (TurnState.WAITING, None, None)
        assert (await run(store, name, "meanwhile")).lease is None
        assert await store.start(ADA, name, "two", MINUTE) is None
        clock.advance(3600)
        assert await store.operations.expired(MINUTE) == ()
        async with refused(store, LeaseLost):
            await store.append(ADA, name, Append(bodies=(answered("x"),), lease=lease))

    async def test_a_waiting_turn_is_taken_up_and_settled(self, store: Store) -> None:
        name = await new(store)
        await settle(store, await running(store, name), answered("may I?"), state=TurnState.WAITING)
        (turn,) = await store.turns(ADA, name)
        lease = await store.take(turn, "two", MINUTE)
        (taken,) = await store.turns(ADA, name)
        assert (taken.state, taken.owner) == (TurnState.RUNNING, "two")
        await settle(store, lease, answered("thank you"))
        assert await store.turns(ADA, name) == ()

    async def test_a_turn_is_not_settled_while_a_message_is_being_written(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "half")
        async with refused(store, DraftMismatch):
            await settle(store, lease)
        async with refused(store, DraftMismatch):
            await settle(store, lease, answered("another message"))

    async def test_of_turns_begun_at_once_through_two_handles_one_runs(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        other = await open_another()
        begun = await asyncio.gather(*(run(handle, name, f"{at}") for at, handle in enumerate((store, other) * 5)))
        assert sum(one.lease is not None for one in begun) == 1
        states = [turn.state for turn in await store.turns(ADA, name)]
        assert states == [TurnState.RUNNING] + [TurnState.QUEUED] * 9
        assert len({one.turn for one in begun}) == 10
        await other.close()
