"""The life of a turn. Follow it here, then file by file in `steps/`.

Every round of the loop asks `decide` what comes next, and `decide` knows only the entries in the log; so recovering a
dead owner's turn means running this loop again. `runner.py` decides when turns run.
"""

import logging
from typing import assert_never

from threadkeep import errors
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep.turn.active_turn import LOOP_LEASE, ActiveTurn
from threadkeep.turn.decision import Finish, Generate, RunTools, Wait, decide, is_outside
from threadkeep.turn.steps.gather_context import gather_context
from threadkeep.turn.steps.generate import Generated, generate
from threadkeep.turn.steps.run_tools import run_tools
from threadkeep.turn.steps.settle import complete_conversation, finish_draft, settle

logger = logging.getLogger(__name__)

CUT_OFF = "Your previous answer was cut off by a failure; what was said of it stands above. Continue from there."
LIMIT = "The limit of tool calls for one turn is reached. Answer now with what you have, without tools, and say so."
LIMIT_SAID = "\n\n(The limit of {} rounds of tool calls was reached.)"
LOOP_GONE = "the loop that ran this turn has not been heard of for too long"
EMPTY = "The model gave an empty answer."
SHARES = (1.0, 0.6, 0.2)
"""The share of the model's window that a request takes: less after each refusal for length (counts are estimates)."""
INTERNAL = Failure(code="internal_error", detail="something went wrong here; the log tells what")


async def run_turn(active: ActiveTurn) -> None:
    """Do one step after the other until the turn is settled. After an error of the store it is left for recovery. A
    turn that waited in the queue for a loop outside is left to that."""
    try:
        if active.deps.budgets is not None and active.has_waited:
            await active.deps.budgets.check(active.lease.scope)
        if is_outside(active.entries):
            await active.deps.store.extend(active.lease, LOOP_LEASE)
            return
        while not active.is_settled:
            await _next_step(active)
    except (errors.StoreError, errors.LeaseLost, errors.ConversationNotFound):
        raise
    except errors.ThreadkeepError as error:
        await _settle_as_failed(active, Failure.of(error))
    except Exception:
        # A bug of ours or of an assistant: it would only happen again, so the turn ends here.
        logger.exception("turn %s of %s failed", active.lease.turn, active.lease.conversation)
        await _settle_as_failed(active, INTERNAL)


async def resume_turn(active: ActiveTurn) -> None:
    """Go on with a turn that was taken up: a half-written answer is kept as interrupted, then the loop runs. A turn
    that a loop outside has left ends so: our model does not answer in its place."""
    await finish_draft(active)
    if is_outside(active.entries):
        await settle(active, TurnState.INTERRUPTED, detail=LOOP_GONE)
    else:
        await run_turn(active)


async def _settle_as_failed(active: ActiveTurn, failure: Failure) -> None:
    await finish_draft(active)
    await settle(active, TurnState.FAILED, failure=failure)


async def _next_step(active: ActiveTurn) -> None:
    if active.stop.is_set():
        await settle(active, active.stop_as)
        return
    step = decide(active.entries, active.assistant.tools, active.assistant.iterations)
    match step:
        case Generate():
            await active.deps.load_model(active.conversation.model, active.assistant)
            await _store_answer(active, await _ask_with_less_until_it_fits(active, step))
        case RunTools():
            await run_tools(active, step)
        case Wait():
            await settle(active, TurnState.WAITING, calls=step.calls)
        case Finish():
            await complete_conversation(active)
            await settle(active, step.state, detail=step.detail)
        case _:
            assert_never(step)


async def _ask_with_less_until_it_fits(active: ActiveTurn, step: Generate) -> Generated:
    """Ask the model; if the request is too long for it, ask again with less of the history."""
    notes = ((CUT_OFF,) if step.cut_off else ()) + ((LIMIT,) if step.last else ())
    closing = LIMIT_SAID.format(active.assistant.iterations) if step.last else ""
    for share in SHARES:
        context = await gather_context(active, notes, tools=not step.last, share=share)
        generated = await generate(active, context, tools=not step.last, closing=closing)
        if not isinstance(generated.error, errors.ContextTooLong) or share == SHARES[-1]:
            return generated
        logger.info("the model takes no request of about %s tokens", context.tokens)
    raise AssertionError("the last attempt always returns")


async def _store_answer(active: ActiveTurn, generated: Generated) -> None:
    """Store what the model gave; the last message of a turn and the end of the turn are one commit."""
    message = generated.message
    bodies = tuple(body for body in (generated.change, message) if body is not None)
    if generated.stopped:
        await settle(active, active.stop_as, *bodies)
    elif generated.is_whole and message is None:
        if bodies:
            await active.append(*bodies)
        await complete_conversation(active)
        detail = f"{EMPTY} The provider's reason: {generated.ending}." if generated.ending else EMPTY
        await settle(active, TurnState.COMPLETED, detail=detail)
    elif generated.is_whole and message is not None and not message.tool_calls and active.assistant.machine is None:
        is_empty = not (message.content or message.blocks)
        await settle(active, TurnState.COMPLETED, *bodies, detail=EMPTY if is_empty else None)
    elif message is not None and generated.may_go_on:
        await active.append(*bodies)
    else:
        failure = Failure.of(generated.error or errors.ModelUnavailable())
        await settle(active, TurnState.FAILED, *bodies, failure=failure)
