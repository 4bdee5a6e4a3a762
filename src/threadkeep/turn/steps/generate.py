"""Asking the model: its text is written down and shown as it comes; what comes out is a message, whole or cut off."""

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import dataclass, replace

from threadkeep.context.base import Context
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.errors import ContentTooLarge, ModelError, ModelTimeout, ModelUnavailable
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Request, Text
from threadkeep.turn.decision import flaw_item
from threadkeep.turn.pen import Pen
from threadkeep.turn.running import STORE_PATIENCE, Running

logger = logging.getLogger(__name__)

BROKE_OFF = "The model broke off before it said anything."


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What the model gave: a message (none if it said nothing), whether it came to its end, and what was wrong."""

    message: Message | None
    is_whole: bool
    stopped: bool = False
    error: ModelError | ContentTooLarge | None = None

    @property
    def may_go_on(self) -> bool:
        """Whether the turn may go on after this: with tools, or with another call after an answer that broke off."""
        return self.is_whole or self.error is None or (isinstance(self.error, ModelError) and self.error.can_retry)


async def generate(running: Running, context: Context, *, tools: bool, closing: str = "") -> Generated:
    """Ask the model until it answers, fails for good or is stopped by somebody. `closing` is added to an answer.

    An answer that broke off is given back after the pause: it is stored before the model is asked again.
    """
    request = Request(messages=context.messages, tools=running.assistant.tools.specs() if tools else ())
    _tell(running, request)
    for pause in (*running.parts.pauses, None):
        generated = await _attempt(running, request, context, closing)
        error = generated.error
        if generated.stopped or pause is None or not isinstance(error, ModelError) or not error.can_retry:
            return generated
        wait = max(pause * random.uniform(0.8, 1.2), min(error.retry_after or 0, 60))  # noqa: S311
        logger.info("the model failed (%s), asking again in %.1f s", error.code, wait)
        if await _stopped_within(running, wait):
            return replace(generated, stopped=True)
        if generated.message:
            return generated
    raise AssertionError("the last attempt always returns")


def _tell(running: Running, request: Request) -> None:
    """Log what the model gets to see: never the content."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    count = len(request.messages)
    logger.debug("turn %s of %s asks with %s messages", running.lease.turn, running.lease.conversation, count)
    for index, message in enumerate(request.messages):
        has = "with" if message.tool_calls else "without"
        logger.debug("%s: %s, %s characters, %s tool calls", index, message.role, len(message.content), has)


async def _stopped_within(running: Running, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await running.stop.wait()
    except TimeoutError:
        return False
    return True


async def _attempt(running: Running, request: Request, context: Context, closing: str) -> Generated:
    """Ask the model once."""
    parts = running.parts
    started = parts.clock()
    pen, answer = Pen(parts.store, parts.bus, running.lease, parts.ids()), Answer()
    error: ModelError | ContentTooLarge | None = None
    stopped = False
    try:
        stopped = await _stream(running, request, pen, answer)
        if closing and answer.reason is not None and not stopped:
            await pen.write(closing if answer.text else closing.strip())
        await pen.finish()
    except (ModelError, ContentTooLarge) as caught:
        error = caught
    except BaseException:
        await pen.drop(STORE_PATIENCE)
        raise
    text = await _written(pen)
    whole = answer.reason is not None and error is None and not stopped
    # Where no tools were offered, a call is none.
    calls = answer.calls(parts.ids) if whole and request.tools else ()
    if not (text or whole or stopped or error):
        error = ModelUnavailable(BROKE_OFF)
    message = Message(
        id=pen.message,
        role=Role.ASSISTANT,
        content=text,
        tool_calls=calls,
        tool_trace=(*context.trace, *(flaw_item(*flaw) for flaw in answer.flaws.items())),
        usage=answer.usage,
        status=MessageStatus.COMPLETE if whole else MessageStatus.INTERRUPTED,
        model=running.model.name,
        started_at=started,
    )
    kept = message if text or calls else None
    return Generated(message=kept, is_whole=whole, stopped=stopped, error=error)


async def _written(pen: Pen) -> str:
    """Return what was written; after an error some more may have been, but not what did not fit any more."""
    while True:
        try:
            return await pen.finish()
        except ContentTooLarge:
            continue


async def _stream(running: Running, request: Request, pen: Pen, answer: Answer) -> bool:
    """Take up all that the model says; return whether somebody stopped it."""
    loop, silence, heard = asyncio.get_running_loop(), running.parts.silence, Heard()
    pumping = asyncio.create_task(_pump(running, request, pen, answer, heard))
    stopping = asyncio.create_task(running.stop.wait())
    try:
        # One look after each silence, not a timer for each word.
        while not pumping.done() and not stopping.done():
            left = heard.at + silence - loop.time()
            if left <= 0:
                raise ModelTimeout(f"The model said nothing for {silence:g} seconds.")
            await asyncio.wait((pumping, stopping), timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        was_stopped = not pumping.done()
        pumping.cancel()
        await asyncio.wait((pumping,))
    if was_stopped:
        return True
    pumping.result()
    return False


class Heard:
    """When the model was last heard of."""

    def __init__(self) -> None:
        self.at = asyncio.get_running_loop().time()


async def _pump(running: Running, request: Request, pen: Pen, answer: Answer, heard: Heard) -> None:
    loop = asyncio.get_running_loop()
    async with aclosing(running.model.stream(request)) as deltas:  # type: ignore[type-var]
        async for delta in deltas:
            heard.at = loop.time()
            answer.add(delta)
            if isinstance(delta, Text) and delta.text:
                running.note_text()
                await pen.write(delta.text)
