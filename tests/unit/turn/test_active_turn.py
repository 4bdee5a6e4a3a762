"""A running turn: where it stands on its branch, whether it is still ours, and what it counts."""

from dataclasses import replace

import pytest

from tests.unit.turn.begun import begun
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import LeaseLost, StoreUnavailable
from threadkeep.store.values import Begin
from threadkeep.testing.samples import MINUTE, answered
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.steps.settle import settle


async def test_the_head_is_the_question_and_then_the_last_entry_on_the_branch() -> None:
    active = await begun()
    question = active.head
    await active.append(answered("Hello."))
    assert active.head == active.entries[-1].seq > question
    await settle(active, TurnState.COMPLETED)
    assert active.head == active.entries[-2].seq, "the end of a turn is no entry of a branch"


async def test_a_turn_that_another_owner_took_can_neither_confirm_nor_append() -> None:
    active = await begun()
    await active.confirm()
    (turn,) = await active.deps.store.turns(active.lease.scope, active.lease.conversation)
    await active.deps.store.take(turn, "another", MINUTE)
    with pytest.raises(LeaseLost):
        await active.confirm()
    with pytest.raises(LeaseLost):
        await active.append(answered("Too late."))


async def test_what_a_turn_began_with_is_all_that_the_log_has_of_it() -> None:
    active = await begun()
    lease, store = active.lease, active.deps.store
    await settle(active, TurnState.COMPLETED)
    hello = Begin(message=Message(role=Role.USER, content="Again"), owner="one", lease_for=MINUTE)
    for begin in (hello, replace(hello, message=None, parent=active.head)):
        began = await store.begin(lease.scope, lease.conversation, begin)
        assert began.lease is not None
        read = await ActiveTurn.load(active.deps, began.lease)
        assert (await ActiveTurn.load(active.deps, began.lease, began.entries)).entries == read.entries
        await settle(read, TurnState.COMPLETED)


async def test_it_is_read_again_as_it_was_written_with_the_tokens_counted_once() -> None:
    active = await begun(count=lambda message: len(message.content))
    await active.append(answered("four"), answered("five!").model_copy(update={"tokens": 99}))
    again = await ActiveTurn.load(active.deps, active.lease)
    assert again.entries == active.entries
    assert [getattr(entry.body, "tokens", None) for entry in again.entries[-2:]] == [4, 99]
    assert not again.is_settled


async def test_a_turn_of_which_no_entry_is_known_is_left_for_recovery() -> None:
    active = await begun()
    with pytest.raises(StoreUnavailable):
        await ActiveTurn.load(active.deps, active.lease.model_copy(update={"turn": 1000}), active.entries)
