"""A turn that a loop of your own runs: the verbs of `LoopTurn`, on the engine's own lease, draft and commits."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.draft_text import SAID, THOUGHT, ends_thinking, split_stream, without_marks
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import CallDecided
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Part
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Failure, Lease, TurnChange, TurnState
from threadkeep.errors import DraftMismatch, InvalidValue, LeaseLost, StoreError, ThreadkeepError
from threadkeep.llm.prices import priced
from threadkeep.loop_turn import LoopTurn, TurnOver
from threadkeep.store.values import Appendable, Draft
from threadkeep.turn.active_turn import STORE_PATIENCE, ActiveTurn, turn_entries
from threadkeep.turn.decision import pending_calls
from threadkeep.turn.draft_writer import DraftWriter
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.settle import finish_draft, settle
from threadkeep.turn_handle import TurnHandle
from threadkeep_loops.leases import taken

logger = logging.getLogger("threadkeep.loops")


class DraftBehind(DraftMismatch):
    """The text does not continue what is stored of the message; `offset` says how much that is."""

    def __init__(self, offset: int = 0) -> None:
        super().__init__(f"The message that is being written has {offset} characters; go on from there.")
        self.offset = offset


class OwnTurn(LoopTurn):
    """One turn, in the process of its loop or, for the requests of a loop elsewhere, on its behalf."""

    def __init__(self, runner: TurnRunner, active: ActiveTurn) -> None:
        self._runner = runner
        self.active = active
        self._writer: DraftWriter | None = None
        self._started_at: datetime | None = None
        self._about: dict[str, Any] = {}
        self._lock = asyncio.Lock()
        self._over = asyncio.Event()
        self._task: asyncio.Task[Any] | None = None
        self.was_stopped = False

    # What it is

    @property
    def number(self) -> int:
        return self.active.lease.turn

    @property
    def id(self) -> str | None:
        changes = (entry.body for entry in self.active.entries if isinstance(entry.body, TurnChange))
        return next((change.id for change in changes if change.id is not None), None)

    @property
    def state(self) -> TurnState:
        changes = [entry.body.state for entry in self.active.entries if isinstance(entry.body, TurnChange)]
        return changes[-1] if changes else TurnState.RUNNING

    @property
    def decisions(self) -> Mapping[str, Approval]:
        bodies = (entry.body for entry in self.active.entries)
        return {body.tool_call_id: body for body in bodies if isinstance(body, Approval)}

    @property
    def offset(self) -> int:
        """How many characters of the message being written are stored."""
        return 0 if self._writer is None else self._writer.offset

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def keep(self) -> None:
        """Keep the turn for longer; `TurnOver` if it is no longer this loop's."""
        try:
            await self.active.deps.store.extend(self.active.lease, self.active.lease_for)
        except LeaseLost:
            raise TurnOver(await self.state_now()) from None

    def go_on(self, draft: Draft) -> None:
        """Go on with a message of which something is stored."""
        deps = self.active.deps
        self._writer = DraftWriter(deps.store, self.active.lease, draft.message, draft.text)
        self._started_at = draft.started_at

    # Writing

    async def text(self, text: str) -> None:
        """Go on with the answer; it is stored, and then shown, in a moment."""
        if text:
            await self._say(text, reasoning=False)

    async def reasoning(self, text: str) -> None:
        """Tell what the model thinks; it becomes a part of the answer."""
        if text:
            await self._say(text, reasoning=True)

    async def draft(self, offset: int, text: str, *, reasoning: bool = False, message: str | None = None) -> int:
        """Go on at `offset` with the message that is being written, stored when this returns, and return where to go on
        then. What is stored already is not written twice; `DraftBehind` if it says something else."""
        writer = await self._writing(message)
        if offset < writer.offset:
            written = writer.so_far
            mark = "" if ends_thinking(written[:offset]) == reasoning else THOUGHT if reasoning else SAID
            piece = mark + without_marks(text)
            if written.startswith(piece, offset):
                return offset + len(piece)
        if offset != writer.offset or message not in (None, writer.message):
            raise DraftBehind(writer.offset)
        await self._say(text, reasoning=reasoning)
        await self._flushed(writer)
        return self.offset

    async def flush(self) -> None:
        """Wait until all text is stored."""
        if self._writer is not None:
            await self._flushed(self._writer)

    def new_id(self) -> str:
        """Return an id for something of the turn."""
        return self.active.deps.ids()

    def used(self, usage: Usage | None = None, model: str | None = None, parts: Sequence[Part] = ()) -> None:
        """Note what a call of a model cost and which it was, and what stands behind its text: it is stored with the
        message that comes next."""
        self._about = {"usage": usage, "model": model, "parts": tuple(parts)}

    async def call(self, name: str, args: Mapping[str, Any] | None = None, *, id: str | None = None) -> ToolCall:
        """Call a tool: the call is stored when this returns, and only then may the tool run."""
        call = ToolCall(id=id or self.active.deps.ids(), name=name, args=dict(args or {}))
        await self.calls(call)
        return call

    async def calls(self, *calls: ToolCall) -> None:
        """Call several tools at once."""
        known = {call.id for message in self._messages() for call in message.tool_calls}
        new = tuple(call for call in calls if call.id not in known)
        if new:
            await self.add(tool_calls=new)

    async def result(
        self,
        call: ToolCall | str,
        content: str = "",
        *,
        error: str | None = None,
        duration_ms: int | None = None,
        blocks: Sequence[AnyBlock] = (),
    ) -> None:
        id = call if isinstance(call, str) else call.id
        if id not in {called.id for called in pending_calls(self.active.entries)}:
            if any(message.tool_result and message.tool_result.tool_call_id == id for message in self._messages()):
                return
            raise InvalidValue("A result answers a call of the newest message.")
        result = ToolResult(tool_call_id=id, error=error, duration_ms=duration_ms)
        await self.add(Message(role=Role.TOOL, content=content, blocks=tuple(blocks), tool_result=result))

    async def block(self, *blocks: AnyBlock, key: IdempotencyKey | None = None) -> None:
        """Show blocks at the end of the answer so far; further text begins another message."""
        await self.add(blocks=blocks, key=key)

    async def change_state(
        self, new: Mapping[str, Any], unset: Sequence[str] = (), *, key: IdempotencyKey | None = None
    ) -> None:
        """Change the state of the conversation: set what is `new`, and remove the keys of `unset`."""
        state = await self.active.state()
        await self.add(self.active.state_change(state, new, tuple(unset)), key=key)

    async def add(self, *bodies: Appendable, key: IdempotencyKey | None = None, **more: Any) -> None:
        """Store what was written so far, with `more` fields of it such as its `tool_calls`, and then whole messages;
        those whose ids are stored already are left out."""
        known = {message.id for message in self._messages()}
        async with self._lock:
            self._check()
            written = await self._finished(more, bodies)
            new = [body for body in bodies if not (isinstance(body, Message) and body.id in known)]
            if written is not None or new:
                await self._commit([*([] if written is None else [written]), *new], key=key)

    async def message(self, *messages: Message) -> None:
        """Store whole messages, behind what was written so far."""
        await self.add(*messages)

    # Waiting for a person

    async def ask_approval(self, *calls: ToolCall | str, wait: bool = True) -> bool:
        """Pause the turn until a person has decided about calls (none: those without a result), and return whether all
        may run. Without `wait` the turn stays paused, to be taken up again when they have."""
        pending = pending_calls(self.active.entries)
        wanted = {call if isinstance(call, str) else call.id for call in calls} or {call.id for call in pending}
        named = tuple(call for call in pending if call.id in wanted)
        if not named:
            raise InvalidValue("Only calls without a result wait for a person.")
        await self.settle(TurnState.WAITING, calls=named)
        if not wait:
            return False
        start = Cursor(seq=self.active.entries[-1].seq)
        async with aclosing(TurnHandle(self.active.deps, *self._of, self.number).events(start)) as events:
            left = {call.id for call in named}
            async for event in events:
                if isinstance(event.what, CallDecided):
                    left.discard(event.what.approval.tool_call_id)
                if not left:
                    break
        self.was_stopped = bool(left)
        again = await taken(self._runner, *self._of, self.number)
        self._over = asyncio.Event()
        await self.host(again)
        return all(self.decisions[call.id].approved for call in named)

    # Ending

    async def complete(self, *, detail: str | None = None) -> None:
        """End the turn well."""
        await self.settle(TurnState.COMPLETED, detail=detail)

    async def fail(self, code: str, detail: str) -> None:
        """End the turn as failed."""
        await self.settle(TurnState.FAILED, failure=Failure(code=code, detail=detail))

    async def cancel(self, *, detail: str | None = None) -> None:
        """End the turn as cancelled; what was written stays."""
        await self.settle(TurnState.CANCELLED, detail=detail)

    async def settle(self, state: TurnState, **how: Any) -> None:
        """End or pause the turn: `detail`, `failure`, `calls` that a person must decide about."""
        async with self._lock:
            if self._over.is_set() and self.state is state:
                return
            self._check()
            is_cut = state in (TurnState.CANCELLED, TurnState.FAILED, TurnState.INTERRUPTED)
            await self._end(state, is_cut=is_cut, **how)

    async def end_as(self, state: TurnState, **how: Any) -> None:
        """End the turn, unless it is over already or can no longer be ended by this loop."""
        if not self.is_over:
            try:
                await asyncio.shield(self.settle(state, **how))
            except (LeaseLost, StoreError) as error:
                logger.info("a turn of %s is left for recovery: %s", self._of[1], error)

    async def _end(self, state: TurnState, *, is_cut: bool, **how: Any) -> None:
        written = None if is_cut else await self._finished({}, ())
        if is_cut and self._writer is not None:
            with suppress(ThreadkeepError):
                await self._writer.finish()
            await finish_draft(self.active)
        try:
            await settle(self.active, state, *([] if written is None else [written]), **how)
        except LeaseLost:
            raise TurnOver(await self.state_now()) from None
        self._writer = None
        self._over.set()

    # Inside

    @property
    def _of(self) -> tuple[Scope, str]:
        return self.active.lease.scope, self.active.lease.conversation

    def _messages(self) -> list[Message]:
        return [entry.body for entry in self.active.entries if isinstance(entry.body, Message)]

    def _check(self) -> None:
        if self.was_stopped or self._over.is_set():
            raise TurnOver(self.state)

    async def _say(self, text: str, *, reasoning: bool) -> None:
        writer = await self._writing()
        try:
            if reasoning:
                await writer.think(without_marks(text), begins=not writer.is_thought)
            else:
                await writer.write(without_marks(text))
        except LeaseLost:
            raise TurnOver(await self.state_now()) from None

    async def _flushed(self, writer: DraftWriter) -> str:
        try:
            return await writer.finish()
        except LeaseLost:
            raise TurnOver(await self.state_now()) from None

    async def _writing(self, message: str | None = None) -> DraftWriter:
        if self._writer is None or self._lock.locked():
            async with self._lock:  # a message is being finished
                self._check()
                if self._writer is None:
                    deps = self.active.deps
                    self._started_at = deps.clock()
                    self._writer = DraftWriter(deps.store, self.active.lease, message or deps.ids())
        self._check()
        self.active.note_text()
        return self._writer

    async def _finished(self, more: Mapping[str, Any], bodies: Sequence[Appendable]) -> Message | None:
        """Return the message that is being written, as it is to be stored; none if there is nothing of it, or if it is
        among `bodies` as a whole."""
        stream, writer = "", self._writer
        if writer is not None:
            stream = await self._flushed(writer)
            if any(isinstance(body, Message) and body.id == writer.message for body in bodies):
                return None
        if not stream and not any(more.values()):
            return None
        text, thoughts = split_stream(stream)
        named: dict[str, Any] = {} if writer is None else {"id": writer.message, "started_at": self._started_at}
        about, self._about = self._about, {}
        about["usage"] = priced(self.active.deps.prices, about.get("model") or "", about.get("usage"))
        about["parts"] = (*thoughts, *(part.model_copy(update={"at": len(text)}) for part in about.get("parts", ())))
        return Message(role=Role.ASSISTANT, content=text, **named, **about, **more)

    async def _commit(self, bodies: Sequence[Appendable], key: IdempotencyKey | None = None) -> None:
        try:
            await self.active.append(*bodies, key=key)
        except LeaseLost:
            raise TurnOver(await self.state_now()) from None
        self._writer = None

    async def state_now(self) -> TurnState | None:
        """Return how the turn is by now, whoever changed it."""
        entries = await turn_entries(self.active.deps.store, *self._of, self.number)
        changes = [entry.body.state for entry in entries if isinstance(entry.body, TurnChange)]
        return changes[-1] if changes else None

    async def host(self, lease: Lease, entries: Sequence[Entry] = ()) -> None:
        """Let this process keep the lease, and hear of a stop, until the turn is over or left."""
        ready: asyncio.Future[ActiveTurn] = asyncio.get_running_loop().create_future()
        self._task = asyncio.current_task()

        async def live(active: ActiveTurn) -> None:
            ready.set_result(active)
            stop, over = (asyncio.create_task(event.wait()) for event in (active.stop, self._over))
            try:
                await asyncio.wait((stop, over), return_when=asyncio.FIRST_COMPLETED)
                if not over.done():
                    await self._stop(active.stop_as)
            finally:
                stop.cancel()
                over.cancel()

        hosting = self._runner.host(lease, live, entries)
        await asyncio.wait((ready, hosting), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            raise TurnOver(await self.state_now())
        self.active = ready.result()

    async def _stop(self, state: TurnState) -> None:
        """End the turn because somebody wants it, and tell the loop, which is cancelled where it stands."""
        self.was_stopped = True
        if self._writer is not None:
            await self._writer.drop(STORE_PATIENCE)
        try:
            async with self._lock:
                if not self._over.is_set():
                    with suppress(LeaseLost):  # another process has taken and ended it
                        await self._end(state, is_cut=True)
        finally:
            self._over.set()
            if self._task is not None:
                self._task.cancel()

    def leave(self) -> None:
        """Leave the turn as it is, without keeping its lease."""
        self._over.set()
