"""Accepting a message: what each policy makes of an open turn, and what cannot be answered again."""

import pytest

from tests.unit.turn.begun import begun
from threadkeep.conversation.turn import BusyPolicy, TurnState
from threadkeep.errors import ConversationBusy, InvalidParent
from threadkeep.testing.samples import new
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.accept import Sending, accept, accept_again


async def test_a_message_that_meets_an_open_turn_is_refused_or_queued_as_its_policy_says() -> None:
    active = await begun(ScriptedModel())
    runner, lease, store = TurnRunner(active.deps), active.lease, active.deps.store
    with pytest.raises(ConversationBusy):
        await accept(runner, lease.scope, lease.conversation, Sending(content="Now!", policy=BusyPolicy.REJECT))
    queued = await accept(runner, lease.scope, lease.conversation, Sending(content="Later."))
    assert queued.lease is None
    states = [turn.state for turn in await store.turns(lease.scope, lease.conversation)]
    assert states == [TurnState.RUNNING, TurnState.QUEUED]


async def test_a_message_is_answered_and_counted_before_it_is_stored() -> None:
    active = await begun(ScriptedModel(says("Yes.")), count=lambda message: 7)
    runner, scope = TurnRunner(active.deps), active.lease.scope
    conversation = await new(active.deps.store)
    begun_turn = await accept(runner, scope, conversation, Sending(content="Are you there?"))
    assert getattr(begun_turn.entries[0].body, "tokens", None) == 7
    with active.deps.bus.subscribed(scope.tenant, conversation) as changes:
        while await active.deps.store.turns(scope, conversation):
            await changes.get(20)
    await runner.close(1.0)


async def test_only_a_question_can_be_answered_again() -> None:
    active = await begun()
    conversation = await new(active.deps.store)
    with pytest.raises(InvalidParent):
        await accept_again(TurnRunner(active.deps), active.lease.scope, conversation, None)
