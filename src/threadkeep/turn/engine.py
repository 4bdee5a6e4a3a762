"""The life of a turn. Follow it here, then file by file in `steps/`.

Every round of the loop asks `decide` what comes next, and `decide` knows nothing but the entries in the log; so taking
up a dead owner's turn is running this loop again. Who runs turns, and when, is in `host.py`.
"""

import logging
from typing import assert_never

from threadkeep.conversation.failure import Failure
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import (
    ContextTooLong,
    ConversationNotFound,
    LeaseLost,
    ModelUnavailable,
    StoreError,
    ThreadkeepError,
)
from threadkeep.turn.decision import Finish, Generate, RunTools, Wait, decide
from threadkeep.turn.running import Running
from threadkeep.turn.steps.complete_conversation import complete_conversation
from threadkeep.turn.steps.finish_draft import finish_draft
from threadkeep.turn.steps.gather_context import gather_context
from threadkeep.turn.steps.generate import Generated, generate
from threadkeep.turn.steps.run_tools import run_tools
from threadkeep.turn.steps.settle import settle

logger = logging.getLogger(__name__)

CUT_OFF = "Your previous answer was cut off by a failure; what was said of it stands above. Continue from there."
LIMIT = "The limit of tool calls for one turn is reached. Answer now with what you have, without tools, and say so."
LIMIT_SAID = "\n\n(The limit of {} rounds of tool calls was reached.)"
EMPTY = "The model gave an empty answer."
SHARES = (1.0, 0.6, 0.2)
"""How much of the model's room a request takes: less after each refusal for length, since counts are estimates."""
INTERNAL = Failure(code="internal_error", detail="something went wrong here; the log tells what")


async def run_turn(running: Running) -> None:
    """Do one step after the other until the turn is settled. What the store raises is left for recovery."""
    try:
        while not running.is_settled:
            await _step(running)
    except (StoreError, LeaseLost, ConversationNotFound):
        raise
    except ThreadkeepError as error:
        await _fail(running, Failure.of(error))
    except Exception:
        # A fault of ours or of an assistant's code: it would only come again, so the turn ends here.
        logger.exception("turn %s of %s failed", running.lease.turn, running.lease.conversation)
        await _fail(running, INTERNAL)


async def _fail(running: Running, failure: Failure) -> None:
    await finish_draft(running)
    await settle(running, TurnState.FAILED, failure=failure)


async def _step(running: Running) -> None:
    if running.stop.is_set():
        await settle(running, running.stop_as)
        return
    step = decide(running.entries, running.assistant.tools, running.assistant.iterations)
    match step:
        case Generate():
            await running.parts.load_model(running.conversation.model, running.assistant)
            await _keep(running, await _generate(running, step))
        case RunTools():
            await run_tools(running, step)
        case Wait():
            await settle(running, TurnState.WAITING, calls=step.calls)
        case Finish():
            await complete_conversation(running)
            await settle(running, step.state, detail=step.detail)
        case _:
            assert_never(step)


async def _generate(running: Running, step: Generate) -> Generated:
    """Ask the model; if the request is too long for it, ask again with less of the history."""
    notes = ((CUT_OFF,) if step.cut_off else ()) + ((LIMIT,) if step.last else ())
    closing = LIMIT_SAID.format(running.assistant.iterations) if step.last else ""
    for share in SHARES:
        context = await gather_context(running, notes, tools=not step.last, share=share)
        generated = await generate(running, context, tools=not step.last, closing=closing)
        if not isinstance(generated.error, ContextTooLong) or share == SHARES[-1]:
            return generated
        logger.info("the model takes no request of about %s tokens", context.tokens)
    raise AssertionError("the last attempt always returns")


async def _keep(running: Running, generated: Generated) -> None:
    """Store what the model gave; the last message of a turn and the end of the turn are one commit."""
    message = generated.message
    said = tuple(body for body in (generated.change, message) if body is not None)
    if generated.stopped:
        await settle(running, running.stop_as, *said)
    elif generated.is_whole and message is None:
        if said:
            await running.append(*said)
        await complete_conversation(running)
        await settle(running, TurnState.COMPLETED, detail=EMPTY)
    elif generated.is_whole and message is not None and not message.tool_calls and running.assistant.machine is None:
        await settle(running, TurnState.COMPLETED, *said)
    elif message is not None and generated.may_go_on:
        await running.append(*said)
    else:
        failure = Failure.of(generated.error or ModelUnavailable())
        await settle(running, TurnState.FAILED, *said, failure=failure)
