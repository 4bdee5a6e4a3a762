"""A person decides about a tool call: the answer is stored, and the turn goes on when every call is decided."""

from contextlib import suppress

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import LeaseLost, ThreadkeepError, TurnNotFound
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.turn import decision
from threadkeep.turn.active_turn import LOOP_LEASE, turn_entries
from threadkeep.turn.decision import is_outside
from threadkeep.turn.runner import TurnRunner

AWAITED = "loop"
"""The owner of a turn that a loop outside is to take up."""
LATELY = 200
"""How many entries back a repeated answer is looked for."""


async def approve(
    runner: TurnRunner, scope: Scope, conversation: str, answer: Approval, key: IdempotencyKey | None = None
) -> Entry:
    """Store the answer of a person about a waiting call and return its entry; `TurnNotFound` if no such call waits."""
    store = runner.deps.store
    waiting = [turn for turn in await store.turns(scope, conversation) if turn.state is TurnState.WAITING]
    calls = [call.id for turn in waiting for call in await waiting_calls(store, turn)]
    if answer.tool_call_id not in calls:
        return await _earlier(runner, scope, conversation, answer)
    turn, lease = waiting[0], None
    if is_outside(await turn_entries(store, scope, conversation, turn.number)):
        return await _tell_loop(store, turn, answer, key)
    if len(calls) == 1:
        # The turn is taken up first: if this process dies before going on, the turn is recovered.
        lease = await _taken(runner, turn)
    try:
        done = await store.append(scope, conversation, Append(bodies=(answer,), key=key, lease=lease))
    except ThreadkeepError:
        if lease is not None:
            runner.take_up(lease)  # the answer was refused: the turn waits again
        raise
    if lease is not None:
        runner.take_up(lease)
    elif not await waiting_calls(store, turn):
        with suppress(TurnNotFound):  # others decided the last calls at the same time, and one of us resumes the turn
            runner.take_up(await _taken(runner, turn))
    return done.entries[0]


async def _tell_loop(store: Store, turn: Turn, answer: Approval, key: IdempotencyKey | None) -> Entry:
    """Store the answer for a loop outside, which must take the turn up soon when every call is decided."""
    done = await store.append(turn.scope, turn.conversation, Append(bodies=(answer,), key=key))
    if not await waiting_calls(store, turn):
        with suppress(LeaseLost):  # the loop itself was faster
            await store.take(turn, AWAITED, LOOP_LEASE)
    return done.entries[0]


async def waiting_calls(store: Store, turn: Turn) -> tuple[ToolCall, ...]:
    """Return the calls of a turn that a person has yet to decide about; none if it does not wait."""
    if turn.state is not TurnState.WAITING:
        return ()
    return decision.waiting_calls(await turn_entries(store, turn.scope, turn.conversation, turn.number))


async def _earlier(runner: TurnRunner, scope: Scope, conversation: str, answer: Approval) -> Entry:
    """Return the entry with the same answer, if it was given before: repeating an answer is no error."""
    store = runner.deps.store
    last = (await store.get(scope, conversation)).entries
    page = await store.log(scope, conversation, Cursor(seq=max(0, last - LATELY)), limit=LATELY)
    for entry in reversed(page.entries):
        if entry.body == answer:
            return entry
    raise runner.no_such_turn(scope, conversation, "No such call waits for a person.")


async def _taken(runner: TurnRunner, turn: Turn) -> Lease:
    try:
        return await runner.deps.store.take(turn, runner.deps.owner, runner.deps.lease_for)
    except LeaseLost:
        raise TurnNotFound("Somebody else has just decided about this call.") from None
