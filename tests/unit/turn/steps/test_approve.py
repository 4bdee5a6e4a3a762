"""A person's answer about a call: given once, found again when it is repeated, refused when nothing waits for it."""

import pytest

from tests.unit.turn.begun import begun
from threadkeep.conversation.entry import Approval
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import TurnNotFound
from threadkeep.tools.decorator import tool
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.approve import approve, waiting_calls
from threadkeep.turn.steps.settle import settle


@tool(needs_approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def test_of_two_calls_the_turn_waits_for_both_answers_and_each_counts_once() -> None:
    active = await begun(None, pay)
    lease, store, runner = active.lease, active.deps.store, TurnRunner(active.deps)
    calls = (ToolCall(id="1", name="pay", args={"to": "Eve"}), ToolCall(id="2", name="pay", args={"to": "Bob"}))
    await active.append(Message(role=Role.ASSISTANT, tool_calls=calls))
    await settle(active, TurnState.WAITING, calls=calls)
    (turn,) = await store.turns(lease.scope, lease.conversation)
    assert await waiting_calls(store, turn) == calls
    answer = Approval(tool_call_id="1", approved=False)
    entry = await approve(runner, lease.scope, lease.conversation, answer)
    assert await approve(runner, lease.scope, lease.conversation, answer) == entry
    assert await waiting_calls(store, turn) == calls[1:]
    with pytest.raises(TurnNotFound):
        await approve(runner, lease.scope, lease.conversation, Approval(tool_call_id="1", approved=True))
    with pytest.raises(TurnNotFound):
        await approve(runner, lease.scope, lease.conversation, Approval(tool_call_id="3", approved=True))


async def test_a_turn_that_runs_waits_for_nobody() -> None:
    active = await begun(None, pay)
    (turn,) = await active.deps.store.turns(active.lease.scope, active.lease.conversation)
    assert await waiting_calls(active.deps.store, turn) == ()
