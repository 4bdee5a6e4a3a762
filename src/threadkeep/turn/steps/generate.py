"""Asking the model: its text is stored and shown as it comes; the result is a message, whole or cut off."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from threadkeep.context.base import Context
from threadkeep.conversation.blocks import Block
from threadkeep.conversation.draft_text import split_stream, without_marks
from threadkeep.conversation.events import TurnRetrying
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.state import State, StateChange
from threadkeep.errors import ContentTooLarge, ModelError, ModelTimeout, ModelUnavailable
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Delta, Model, Reasoned, Request, Text
from threadkeep.llm.prices import priced
from threadkeep.turn.active_turn import STORE_PATIENCE, ActiveTurn
from threadkeep.turn.agent import Asked, Changed, Noted, ShownBlock, Thought
from threadkeep.turn.attached import file_reader
from threadkeep.turn.decision import flaw_item
from threadkeep.turn.draft_writer import DraftWriter
from threadkeep.turn.steps.run_tools import traced_calls

logger = logging.getLogger(__name__)

EARLY_ENDINGS = {
    "length": ("length", "max_tokens", "max_output_tokens", "context_window"),
    "filter": ("filter", "refusal", "safety", "blocked", "prohibited", "recitation", "guardrail"),
}
"""Why an answer ends early, by words that providers use."""
BROKE_OFF = "The model broke off before it said anything."


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What the model gave: a message (none if it said nothing), whether it is whole, and what went wrong.

    `change` is the change of state that belongs to the message and is stored with it; `ending` is the provider's word
    for why an answer ended early.
    """

    message: Message | None
    is_whole: bool
    change: StateChange | None = None
    stopped: bool = False
    error: ModelError | ContentTooLarge | None = None
    ending: str = ""

    @property
    def may_go_on(self) -> bool:
        """Whether the turn may go on after this: with tools, or with another call after an answer that broke off."""
        return self.is_whole or self.error is None or (isinstance(self.error, ModelError) and self.error.can_retry)


async def generate(active: ActiveTurn, context: Context, *, tools: bool, closing: str = "") -> Generated:
    """Ask the model until it answers, fails for good or is stopped by somebody. `closing` is added to an answer.

    An answer that broke off is returned after the pause, so that it is stored before the model is asked again.
    """
    specs = active.assistant.tools.specs() if tools else ()
    read = file_reader(active.deps, active.lease.scope)
    request = Request(messages=context.messages, tools=specs, options=active.options, read_file=read)
    _log_request(active, request)
    pauses = active.deps.pauses
    for attempt, pause in enumerate((*pauses, None), start=2):
        generated = await _ask_once(active, request, context, closing)
        error = generated.error
        if generated.stopped or pause is None or not isinstance(error, ModelError) or not error.can_retry:
            return generated
        wait = max(pause * random.uniform(0.8, 1.2), min(error.retry_after or 0, 60))  # noqa: S311
        logger.info("the model failed (%s), asking again in %.1f s", error.code, wait)
        retry = TurnRetrying(active.lease.turn, attempt, len(pauses) + 1, wait, error.code)
        with active.deps.bus.retrying(active.lease.scope.tenant, active.lease.conversation, retry):
            if await _stopped_within(active, wait):
                return replace(generated, stopped=True)
        if generated.message:
            return generated
    raise AssertionError("the last attempt always returns")


def _log_request(active: ActiveTurn, request: Request) -> None:
    """Log roles and sizes of what the model gets, never the content."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    count = len(request.messages)
    logger.debug("turn %s of %s asks with %s messages", active.lease.turn, active.lease.conversation, count)
    for index, message in enumerate(request.messages):
        has = "with" if message.tool_calls else "without"
        logger.debug("%s: %s, %s characters, %s tool calls", index, message.role, len(message.content), has)


class _LoggedModel(Model):
    """The model as an agent uses it: the agent's own requests are logged like any other."""

    def __init__(self, active: ActiveTurn) -> None:
        self._active = active
        self.name, self.window = active.model.name, active.model.window
        self.is_scripted = active.model.is_scripted

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Log the request and answer it."""
        _log_request(self._active, request)
        return self._active.model.stream(request)


async def _stopped_within(active: ActiveTurn, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await active.stop.wait()
    except TimeoutError:
        return False
    return True


async def _ask_once(active: ActiveTurn, request: Request, context: Context, closing: str) -> Generated:
    """Ask the model once."""
    deps = active.deps
    started = deps.clock()
    writer = DraftWriter(deps.store, active.lease, deps.ids())
    call = ModelCall(active, request, writer)
    answer = call.output.answer
    error: ModelError | ContentTooLarge | None = None
    stopped = False
    try:
        stopped = await _heard_to_the_end(call)
        if closing and answer.reason is not None and not stopped:
            await writer.write(closing if answer.text else closing.strip())
        await writer.finish()
    except (ModelError, ContentTooLarge) as caught:
        error = caught
    except BaseException:
        await writer.drop(STORE_PATIENCE)
        raise
    stream = await _written(writer)
    text, thoughts = split_stream(stream)
    whole = answer.reason is not None and error is None and not stopped
    # Calls are ignored where no tools were offered.
    calls = answer.calls(deps.ids) if whole and request.tools else ()
    blocks = (*_blocks_of_tools(active), *call.output.blocks) if whole and not calls else ()
    thoughts = answer.reasoning(active.model.name, calls) if whole else answer.timed(thoughts)
    if not (stream or whole or stopped or error):
        error = ModelUnavailable(BROKE_OFF)
    endings = _ending(answer.reason)
    message = Message(
        id=writer.message,
        role=Role.ASSISTANT,
        content=text,
        parts=thoughts,
        blocks=blocks,
        tool_calls=calls,
        tool_trace=(*(() if calls else traced_calls(active.entries)), *context.trace, *_told(call.output), *endings),
        usage=priced(deps.prices, active.model.name, answer.usage),
        status=MessageStatus.COMPLETE if whole else MessageStatus.INTERRUPTED,
        model=active.model.name,
        started_at=started,
    )
    kept = message if stream or calls or blocks else None
    change = await call.change() if whole else None
    ending = "".join(item["word"] for item in endings)
    return Generated(message=kept, is_whole=whole, change=change, stopped=stopped, error=error, ending=ending)


def _told(output: "ModelOutput") -> tuple[dict[str, Any], ...]:
    """Return what the trace says of an answer: the agent's notes, and what was wrong with it."""
    return (*output.notes, *(flaw_item(*flaw) for flaw in output.answer.flaws.items()))


def _ending(reason: str | None) -> tuple[dict[str, str], ...]:
    """Return the item of a trace that says why an answer ended early, going by the provider's reason."""
    word = (reason or "").lower()
    kinds = [kind for kind, words in EARLY_ENDINGS.items() if any(known in word for known in words)]
    return tuple({"kind": "ending", "reason": kind, "word": word} for kind in kinds[:1])


def _blocks_of_tools(active: ActiveTurn) -> tuple[Block, ...]:
    """Return the blocks that the tools of this turn have shown: they are part of the answer."""
    messages = (entry.body for entry in active.entries if isinstance(entry.body, Message))
    return tuple(block for message in messages if message.role is Role.TOOL for block in message.blocks)


async def _written(writer: DraftWriter) -> str:
    """Finish writing and return what was written; text that no longer fits is dropped."""
    while True:
        try:
            return await writer.finish()
        except ContentTooLarge:
            continue


@dataclass
class ModelOutput:
    """An answer and what came with it: notes for the trace, blocks, keys of the state to set and to remove."""

    answer: Answer = field(default_factory=Answer)
    notes: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    set: dict[str, Any] = field(default_factory=dict)
    unset: dict[str, None] = field(default_factory=dict)

    def add(self, thought: Thought) -> None:
        """Add one more thought."""
        match thought:
            case Noted():
                self.notes.append(thought.item)
            case ShownBlock():
                self.blocks.append(thought.block)
            case Changed():
                self._change(thought)
            case _:
                self.answer.add(thought)

    def _change(self, changed: Changed) -> None:
        """Combine changes: of setting and removing the same key, the later counts."""
        self.set = {key: value for key, value in self.set.items() if key not in changed.unset} | dict(changed.set)
        self.unset = {key: None for key in (*self.unset, *changed.unset) if key not in changed.set}


class ModelCall:
    """One call of a model or an agent: its output so far, and when it last said something."""

    def __init__(self, active: ActiveTurn, request: Request, writer: DraftWriter) -> None:
        self.output = ModelOutput()
        self.heard_at = asyncio.get_running_loop().time()
        self.active = active
        self._request = request
        self._writer = writer
        self._state: State | None = None

    async def take_all(self) -> None:
        """Take the whole stream."""
        loop = asyncio.get_running_loop()
        async with aclosing(await self._thoughts()) as thoughts:  # type: ignore[type-var]
            async for thought in thoughts:
                self.heard_at = loop.time()
                await self._take(thought)

    async def change(self) -> StateChange | None:
        """Return the change of state that belongs to the answer. Raises IllegalTransition if it is not allowed."""
        if not (self.output.set or self.output.unset):
            return None
        state = self._state or await self.active.state()
        return self.active.state_change(state, self.output.set, tuple(self.output.unset))

    async def _thoughts(self) -> AsyncIterator[Thought]:
        active = self.active
        agent = await active.agent()
        if agent is None:
            return active.model.stream(self._request)
        self._state = await active.state()
        entries = active.history[0].entries if active.history else ()
        messages = tuple(entry.body for entry in entries if isinstance(entry.body, Message))
        asked = Asked(request=self._request, model=_LoggedModel(active), state=self._state.values, messages=messages)
        return agent.think(asked)

    async def _take(self, thought: Thought) -> None:
        answer = self.output.answer
        if isinstance(thought, Text):
            answer.add(thought)
            if thought.text:
                self.active.note_text()
                await self._writer.write(without_marks(thought.text))
        elif isinstance(thought, Reasoned):
            goes_on = answer.is_thinking
            answer.add(thought)
            if thought.text:
                await self._writer.think(without_marks(thought.text), begins=not goes_on)
        elif isinstance(thought, Changed) and thought.now:
            await self._change_now(thought)
        else:
            self.output.add(thought)

    async def _change_now(self, changed: Changed) -> None:
        state = self._state or await self.active.state()
        change = self.active.state_change(state, changed.set, changed.unset)
        await self.active.append(change)
        self._state = state.after(change)


async def _heard_to_the_end(call: ModelCall) -> bool:
    """Take all that the model says; return whether somebody stopped it."""
    loop, silence = asyncio.get_running_loop(), call.active.deps.silence

    def left() -> float:
        # Looks again when the silence would be over, instead of setting a timer for each word.
        seconds = call.heard_at + silence - loop.time()
        if seconds <= 0:
            raise ModelTimeout(f"The model said nothing for {silence:g} seconds.")
        return seconds

    return not await call.active.unless_stopped(call.take_all(), left)
