"""A person decides about a tool call, or a client gives its result: that is stored, and the turn goes on when no call
waits any more."""

import asyncio
import logging
from contextlib import suppress

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import InvalidValue, LeaseLost, ThreadkeepError, TurnNotFound
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.turn import decision
from threadkeep.turn.active_turn import LOOP_LEASE, turn_entries
from threadkeep.turn.decision import is_outside
from threadkeep.turn.runner import TurnRunner

logger = logging.getLogger(__name__)

MEANWHILE = (0.02, 0.05, 0.2, 0.5)
"""Seconds after which an answer is tried again that met a turn that runs."""
AWAITED = "loop"
"""The owner of a turn that a loop outside is to take up."""
LATELY = 200
"""How many entries back a repeated answer is looked for."""


async def approve(
    runner: TurnRunner, scope: Scope, conversation: str, answer: Approval, key: IdempotencyKey | None = None
) -> Entry:
    """Store the answer about a waiting call and return its entry; `TurnNotFound` if no such call waits. While the turn
    runs somebody may be just storing the same answer, or the turn may be about to wait again."""
    was_settled = False
    for pause in MEANWHILE:
        try:
            return await _approve(runner, scope, conversation, answer, key)
        except TurnNotFound:
            turns = await runner.deps.store.turns(scope, conversation)
            if not any(turn.state is TurnState.RUNNING for turn in turns):
                if was_settled:
                    raise
                was_settled, pause = True, 0.0
        except LeaseLost:
            logger.debug("somebody else was faster with an answer in %s", conversation)
        await asyncio.sleep(pause)
    raise TurnNotFound("Somebody else has just decided about this call.")


async def _approve(
    runner: TurnRunner, scope: Scope, conversation: str, answer: Approval, key: IdempotencyKey | None
) -> Entry:
    store = runner.deps.store
    waiting = [turn for turn in await store.turns(scope, conversation) if turn.state is TurnState.WAITING]
    calls = [call.id for turn in waiting for call in await waiting_calls(store, turn)]
    if answer.tool_call_id not in calls:
        if waiting and not calls:
            await _resume(runner, waiting[0])  # who gave the last answer died before that
        return await _earlier(runner, scope, conversation, answer)
    turn, lease = waiting[0], None
    entries = await turn_entries(store, scope, conversation, turn.number)
    _check_kind(answer, answer.tool_call_id in decision.client_calls(entries))
    if is_outside(entries):
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
        await _resume(runner, turn)  # others decided the last calls at the same time, and one of us resumes the turn
    return done.entries[0]


async def _resume(runner: TurnRunner, turn: Turn) -> None:
    """Go on with a turn that waits for nothing any more, unless somebody else does, or a loop outside has to."""
    if is_outside(await turn_entries(runner.deps.store, turn.scope, turn.conversation, turn.number)):
        return
    with suppress(LeaseLost):
        runner.take_up(await _taken(runner, turn))


def _check_kind(answer: Approval, by_client: bool) -> None:
    """Refuse a result where a person must decide, and a mere consent where a client must run a call."""
    if answer.is_result and not by_client:
        raise InvalidValue("This call waits for a person's decision; the server runs it.")
    if by_client and answer.approved and not answer.is_result:
        raise InvalidValue("This call is run by the client, who gives its result.")


async def _tell_loop(store: Store, turn: Turn, answer: Approval, key: IdempotencyKey | None) -> Entry:
    """Store the answer for a loop outside, which must take the turn up soon when every call is decided."""
    done = await store.append(turn.scope, turn.conversation, Append(bodies=(answer,), key=key))
    if not await waiting_calls(store, turn):
        with suppress(LeaseLost):  # the loop itself was faster
            await store.take(turn, AWAITED, LOOP_LEASE)
    return done.entries[0]


async def waiting_calls(store: Store, turn: Turn, *, by_client: bool | None = None) -> tuple[ToolCall, ...]:
    """Return the calls that a turn waits for, those that a client runs, the others, or both; none if it does not
    wait."""
    if turn.state is not TurnState.WAITING:
        return ()
    entries = await turn_entries(store, turn.scope, turn.conversation, turn.number)
    theirs = decision.client_calls(entries)
    return tuple(call for call in decision.waiting_calls(entries) if by_client in (None, call.id in theirs))


async def _earlier(runner: TurnRunner, scope: Scope, conversation: str, answer: Approval) -> Entry:
    """Return the entry with the same answer, if it was given before: repeating an answer is no error."""
    store = runner.deps.store
    last = (await store.get(scope, conversation)).entries
    page = await store.log(scope, conversation, Cursor(seq=max(0, last - LATELY)), limit=LATELY)
    for entry in reversed(page.entries):
        if entry.body == answer:
            return entry
    raise runner.no_such_turn(scope, conversation, "No such call waits.")


async def _taken(runner: TurnRunner, turn: Turn) -> Lease:
    return await runner.deps.store.take(turn, runner.deps.owner, runner.deps.lease_for)
