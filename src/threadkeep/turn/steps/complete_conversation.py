"""Completing a guided conversation whose machine is at its end, before the turn is settled: so it is never missed."""

from threadkeep.conversation.entry import Status, Update
from threadkeep.turn.running import Running
from threadkeep.turn.states import read_state


async def complete_conversation(running: Running) -> None:
    """Give a conversation the status completed if its state is a final one; a second time it changes nothing."""
    machine, lease, parts = running.assistant.machine, running.lease, running.parts
    if machine is None or not machine.is_over((await read_state(running)).values):
        return
    conversation = await parts.store.get(lease.scope, lease.conversation)
    if conversation.status is Status.COMPLETED:
        return
    await parts.store.update(lease.scope, lease.conversation, Update(status=Status.COMPLETED))
    parts.bus.publish(lease.scope.tenant, lease.conversation)
    parts.bus.publish_list(lease.scope.tenant, lease.scope.user)
