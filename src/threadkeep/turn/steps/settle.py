"""Ending a turn: its last message, state and usage in one commit, which also ends the lease. Before that, a draft that
was left half-written becomes a message, and a guided conversation in a final state is completed."""

from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.draft_text import marks_as_lines, split_stream
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, Usage
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.conversation.value import storable
from threadkeep.errors import ContentTooLarge
from threadkeep.store.values import Appendable
from threadkeep.tools.client import AwaitedTool
from threadkeep.tools.registry import Registry
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.decision import is_outside

MOST_SAID = 2_000
"""Characters that are kept of an error: providers' messages may have any length."""


async def settle(
    active: ActiveTurn,
    state: TurnState,
    *bodies: Appendable,
    failure: Failure | None = None,
    detail: str | None = None,
    calls: tuple[ToolCall, ...] = (),
) -> None:
    """End the turn, or pause it until a person has decided about some calls, and a client has run others."""
    usage = total_usage(active, bodies)
    if failure is not None:
        failure = Failure(code=failure.code, detail=storable(failure.detail[:MOST_SAID]))
    # Without calls nobody needs an assistant, which may be gone.
    tools = active.assistant.tools if calls else Registry()
    theirs = [call for call in calls if isinstance(tools.get(call.name), AwaitedTool)]
    if calls:
        detail = _awaited([call for call in calls if call not in theirs], theirs)
    end = TurnChange(
        state=state,
        usage=usage,
        failure=failure,
        detail=detail,
        calls=tuple(call.id for call in calls),
        # A loop outside knows its own tools.
        definitions=() if is_outside(active.entries) else tuple(tools.digest(call.name) for call in calls),
        client_calls=tuple(call.id for call in theirs),
    )
    await active.append(*bodies, settle=end)


def _awaited(asked: Sequence[ToolCall], theirs: Sequence[ToolCall]) -> str:
    """Return a line about what a turn waits for."""
    waits = [("A person must allow", asked), ("A client must run", theirs)]
    return ". ".join(f"{what}: {', '.join(call.name for call in calls)}" for what, calls in waits if calls)


def total_usage(active: ActiveTurn, bodies: tuple[Appendable, ...]) -> Usage | None:
    """Return the tokens and the cost of all model calls of this turn, if any provider counted them."""
    messages = [body for body in (*(entry.body for entry in active.entries), *bodies) if isinstance(body, Message)]
    used = [message.usage for message in messages if message.usage is not None]
    return Usage.total(used) if used else None


async def finish_draft(active: ActiveTurn) -> None:
    """Store the half-written text of this turn, if there is any, as an interrupted message."""
    lease, store = active.lease, active.deps.store
    last = (await store.get(lease.scope, lease.conversation)).entries
    draft = (await store.log(lease.scope, lease.conversation, Cursor(seq=last))).draft
    if draft is None or draft.turn != lease.turn:
        return
    text, thoughts = split_stream(draft.text)
    try:
        await active.append(_cut_off(draft.message, text, parts=thoughts, started_at=draft.started_at))
    except ContentTooLarge:
        # The text alone always fits: it was measured when it was written.
        await active.append(_cut_off(draft.message, marks_as_lines(draft.text)))


def _cut_off(message: str, text: str, **more: Any) -> Message:
    return Message(id=message, role=Role.ASSISTANT, content=text, status=MessageStatus.INTERRUPTED, **more)


async def complete_conversation(active: ActiveTurn) -> None:
    """Set the status of a guided conversation in a final state to completed, unless it is that already.

    This comes before the turn is settled, so that recovery repeats it after a crash.
    """
    machine, lease, deps = active.assistant.machine, active.lease, active.deps
    if machine is None or not machine.is_over((await active.state()).values):
        return
    conversation = await deps.store.get(lease.scope, lease.conversation)
    if conversation.status is Status.COMPLETED:
        return
    await deps.store.update(lease.scope, lease.conversation, Update(status=Status.COMPLETED))
