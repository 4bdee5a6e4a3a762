"""Asking the model: its text is written down and shown as it comes; what comes out is a message, whole or cut off."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from threadkeep.context.base import Context
from threadkeep.conversation.blocks import Block
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.state import State, StateChange
from threadkeep.errors import ContentTooLarge, ModelError, ModelTimeout, ModelUnavailable
from threadkeep.llm.base import Delta, Model, Request, Text
from threadkeep.turn.collected import Collected
from threadkeep.turn.decision import flaw_item
from threadkeep.turn.mind import Asked, Changed, Thought
from threadkeep.turn.pen import Pen
from threadkeep.turn.running import STORE_PATIENCE, Running
from threadkeep.turn.states import after, read_state, state_change
from threadkeep.turn.steps.run_tools import traced_calls

logger = logging.getLogger(__name__)

BROKE_OFF = "The model broke off before it said anything."


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What the model gave: a message (none if it said nothing), whether it came to its end, and what was wrong.

    `change` is the change of state that belongs to the message and is stored with it.
    """

    message: Message | None
    is_whole: bool
    change: StateChange | None = None
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


class _LoggedModel(Model):
    """The model as a mind uses it: what it asks on its own is logged like any other request."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.name, self.window = running.model.name, running.model.window
        self.is_scripted = running.model.is_scripted

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Log the request and answer it."""
        _tell(self._running, request)
        return self._running.model.stream(request)


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
    pen = Pen(parts.store, parts.bus, running.lease, parts.ids())
    hearing = Hearing(running, request, context, pen)
    answer = hearing.collected.answer
    error: ModelError | ContentTooLarge | None = None
    stopped = False
    try:
        stopped = await _stream(hearing)
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
    blocks = (*_shown(running), *hearing.collected.blocks) if whole and not calls else ()
    if not (text or whole or stopped or error):
        error = ModelUnavailable(BROKE_OFF)
    message = Message(
        id=pen.message,
        role=Role.ASSISTANT,
        content=text,
        blocks=blocks,
        tool_calls=calls,
        tool_trace=(
            *(() if calls else traced_calls(running.entries)),
            *context.trace,
            *hearing.collected.notes,
            *(flaw_item(*flaw) for flaw in answer.flaws.items()),
        ),
        usage=answer.usage,
        status=MessageStatus.COMPLETE if whole else MessageStatus.INTERRUPTED,
        model=running.model.name,
        started_at=started,
    )
    kept = message if text or calls or blocks else None
    change = await hearing.change() if whole else None
    return Generated(message=kept, is_whole=whole, change=change, stopped=stopped, error=error)


def _shown(running: Running) -> tuple[Block, ...]:
    """Return the blocks that the tools of this turn have shown: they are part of the answer."""
    said = (entry.body for entry in running.entries if isinstance(entry.body, Message))
    return tuple(block for message in said if message.role is Role.TOOL for block in message.blocks)


async def _written(pen: Pen) -> str:
    """Return what was written; after an error some more may have been, but not what did not fit any more."""
    while True:
        try:
            return await pen.finish()
        except ContentTooLarge:
            continue


class Hearing:
    """One call of a model or a mind: what is taken up of it, and when it was last heard of."""

    def __init__(self, running: Running, request: Request, context: Context, pen: Pen) -> None:
        self.collected = Collected()
        self.heard_at = asyncio.get_running_loop().time()
        self.running = running
        self._request = request
        self._context = context
        self._pen = pen
        self._state: State | None = None

    async def take_all(self) -> None:
        """Take up all that is said, to its end."""
        loop = asyncio.get_running_loop()
        async with aclosing(await self._thoughts()) as thoughts:  # type: ignore[type-var]
            async for thought in thoughts:
                self.heard_at = loop.time()
                await self._take(thought)

    async def change(self) -> StateChange | None:
        """Return the change of state that belongs to the answer. Raises IllegalTransition if it must not be."""
        collected, machine = self.collected, self.running.assistant.machine
        if not collected.has_changes:
            return None
        state = self._state or await read_state(self.running)
        return state_change(machine, state, collected.set, tuple(collected.unset))

    async def _thoughts(self) -> AsyncIterator[Thought]:
        running = self.running
        mind = await running.mind()
        if mind is None:
            return running.model.stream(self._request)
        self._state = await read_state(running)
        said = tuple(entry.body for entry in self._context.entries if isinstance(entry.body, Message))
        asked = Asked(request=self._request, model=_LoggedModel(running), state=self._state.values, messages=said)
        return mind.think(asked)

    async def _take(self, thought: Thought) -> None:
        if isinstance(thought, Changed) and thought.now:
            await self._change_now(thought)
            return
        self.collected.add(thought)
        if isinstance(thought, Text) and thought.text:
            self.running.note_text()
            await self._pen.write(thought.text)

    async def _change_now(self, changed: Changed) -> None:
        state = self._state or await read_state(self.running)
        change = state_change(self.running.assistant.machine, state, changed.set, changed.unset)
        await self.running.append(change)
        self._state = after(state, change)


async def _stream(hearing: Hearing) -> bool:
    """Take up all that the model says; return whether somebody stopped it."""
    running, loop = hearing.running, asyncio.get_running_loop()
    silence = running.parts.silence
    taking = asyncio.create_task(hearing.take_all())
    stopping = asyncio.create_task(running.stop.wait())
    try:
        # One look after each silence, not a timer for each word.
        while not taking.done() and not stopping.done():
            left = hearing.heard_at + silence - loop.time()
            if left <= 0:
                raise ModelTimeout(f"The model said nothing for {silence:g} seconds.")
            await asyncio.wait((taking, stopping), timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        was_stopped = not taking.done()
        taking.cancel()
        await asyncio.wait((taking,))
    if was_stopped:
        return True
    taking.result()
    return False
