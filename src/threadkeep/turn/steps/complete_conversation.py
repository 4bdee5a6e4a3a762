"""Completing a guided conversation whose machine is at its end, before the turn is settled: so it is never missed."""

from threadkeep.conversation.entry import Status, Update
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.states import read_state


async def complete_conversation(active: ActiveTurn) -> None:
    """Give a conversation the status completed if its state is a final one; a second time it changes nothing."""
    machine, lease, deps = active.assistant.machine, active.lease, active.deps
    if machine is None or not machine.is_over((await read_state(active)).values):
        return
    conversation = await deps.store.get(lease.scope, lease.conversation)
    if conversation.status is Status.COMPLETED:
        return
    await deps.store.update(lease.scope, lease.conversation, Update(status=Status.COMPLETED))
