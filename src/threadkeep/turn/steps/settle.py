"""Ending a turn: its last message, its state and its usage in one commit, which also gives the lease back."""

from threadkeep.conversation.message import Message, ToolCall, Usage
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.store.base import Appendable
from threadkeep.tools.outcome import storable
from threadkeep.turn.active_turn import ActiveTurn

MOST_SAID = 2_000
"""Characters that are kept of an error: providers' messages can be of any length."""


async def settle(
    active: ActiveTurn,
    state: TurnState,
    *bodies: Appendable,
    failure: Failure | None = None,
    detail: str | None = None,
    calls: tuple[ToolCall, ...] = (),
) -> None:
    """End the turn, or pause it until a person has decided about some calls."""
    usage = total_usage(active, bodies)
    if failure is not None:
        failure = Failure(code=failure.code, detail=storable(failure.detail[:MOST_SAID]))
    if calls:
        detail = f"A person must allow: {', '.join(call.name for call in calls)}"
    ids = tuple(call.id for call in calls)
    await active.append(*bodies, settle=TurnChange(state=state, usage=usage, failure=failure, detail=detail, calls=ids))


def total_usage(active: ActiveTurn, bodies: tuple[Appendable, ...]) -> Usage | None:
    """Return the tokens of all model calls of this turn, if any provider counted them."""
    said = [body for body in (*(entry.body for entry in active.entries), *bodies) if isinstance(body, Message)]
    used = [message.usage for message in said if message.usage is not None]
    if not used:
        return None
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in used),
        output_tokens=sum(usage.output_tokens for usage in used),
        cached_tokens=sum(usage.cached_tokens for usage in used),
    )
