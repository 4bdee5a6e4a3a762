"""A turn on a server that a loop in this process runs: the verbs of `LoopTurn`, as requests.

Text goes with what else is said until the request before it is answered, so that a token costs no round trip. While the
loop says nothing, the turn is kept, and a stop is heard of, by asking.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import groupby
from typing import Any

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval
from threadkeep.conversation.events import CallDecided
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, ToolCall, Usage
from threadkeep.conversation.parts import Part
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep.errors import InvalidValue, ThreadkeepError
from threadkeep.loop_turn import Loops, TurnOver
from threadkeep_client.events import entry_of
from threadkeep_client.log import Log

SILENCE = 5.0
MOST_UNWRITTEN = 64 * 1024
"""Characters that may wait for a request before the loop is held back."""


class RemoteLoopTurn:
    """A `LoopTurn` of a loop of this process, on a server."""

    def __init__(self, log: Log, begun: Mapping[str, Any]) -> None:
        self._log = log
        self._begun = begun
        self._state = TurnState(begun["state"])
        self._headers = {"Turn-Token": begun["token"]}
        self._decisions = {each["tool_call_id"]: Approval(**each) for each in begun["decisions"]}
        self._about: dict[str, Any] = {}
        self._unwritten: list[tuple[bool, str]] = []
        self._writing: asyncio.Task[None] | None = None
        self._offset = 0
        self._spoken = asyncio.Event()
        self._task = asyncio.current_task()
        self._keeping = asyncio.create_task(self._keep())
        self.is_over = self.was_stopped = False

    # What it is

    @property
    def number(self) -> int:
        return int(self._begun["turn"])

    @property
    def id(self) -> str | None:
        found: str | None = self._begun["id"]
        return found

    @property
    def state(self) -> TurnState:
        return self._state

    @property
    def decisions(self) -> Mapping[str, Approval]:
        return self._decisions

    # Writing

    async def text(self, text: str) -> None:
        await self._say(text, is_thought=False)

    async def reasoning(self, text: str) -> None:
        await self._say(text, is_thought=True)

    def used(self, usage: Usage | None = None, model: str | None = None, parts: Sequence[Part] = ()) -> None:
        if parts:
            raise InvalidValue("Over HTTP, parts are in a whole message alone.")
        shown = None if usage is None else usage.model_dump(mode="json")
        self._about = {name: value for name, value in (("usage", shown), ("model", model)) if value is not None}

    async def call(self, name: str, args: Mapping[str, Any] | None = None, *, id: str | None = None) -> ToolCall:
        call = ToolCall(id=id or new_id(), name=name, args=dict(args or {}))
        await self.calls(call)
        return call

    async def calls(self, *calls: ToolCall) -> None:
        await self._add(*({"type": "call", "id": call.id, "name": call.name, "args": call.args} for call in calls))

    async def result(
        self,
        call: ToolCall | str,
        content: str = "",
        *,
        error: str | None = None,
        duration_ms: int | None = None,
        blocks: Sequence[AnyBlock] = (),
    ) -> None:
        told = {"content": content, "error": error, "duration_ms": duration_ms, "blocks": _shown(blocks)}
        await self._add({"type": "result", "call": _id(call), **told})

    async def block(self, *blocks: AnyBlock) -> None:
        await self._add(*({"type": "block", "block": block} for block in _shown(blocks)))

    async def change_state(self, new: Mapping[str, Any], unset: Sequence[str] = ()) -> None:
        await self._add({"type": "state", "set": dict(new), "unset": list(unset)})

    async def message(self, *messages: Message) -> None:
        await self._add(*map(entry_of, messages))

    # Waiting and ending

    async def ask_approval(self, *calls: ToolCall | str, wait: bool = True) -> bool:
        known = set(self._decisions)
        await self._settle(TurnState.WAITING, calls=[_id(call) for call in calls])
        if not wait:
            return False
        shown = await self._log.read(limit=1)
        left = {call for turn in shown["turns"] if turn["id"] == self.number for call in turn["calls"]}
        async with aclosing(self._log.follow(Cursor.decode(shown["cursor"], shown["id"]))) as events:
            while left and not self.was_stopped:
                event = await anext(events)
                if isinstance(event.what, CallDecided):
                    left.discard(event.what.approval.tool_call_id)
                self.was_stopped = event.ends(self.number)
        taken = await self._asked("POST", "/lease")
        self._headers = {"Turn-Token": taken["token"]}
        decided = (await self._asked("GET", ""))["decisions"]
        self._decisions = {each["tool_call_id"]: Approval(**each) for each in decided}
        self._state, self.is_over, self._keeping = TurnState.RUNNING, False, asyncio.create_task(self._keep())
        named = {_id(call) for call in calls} or self._decisions.keys() - known
        return all(self._decisions[each].approved for each in named)

    async def complete(self, *, detail: str | None = None) -> None:
        await self._settle(TurnState.COMPLETED, detail=detail)

    async def fail(self, code: str, detail: str) -> None:
        await self._settle(TurnState.FAILED, failure=Failure(code=code, detail=detail).model_dump())

    async def cancel(self, *, detail: str | None = None) -> None:
        await self._settle(TurnState.CANCELLED, detail=detail)

    async def end_as(self, state: TurnState, **how: Any) -> None:
        """End the turn, unless it is over already or can no longer be ended by this loop."""
        if not self.is_over:
            with suppress(ThreadkeepError):
                await asyncio.shield(self._settle(state, **how))

    def leave(self) -> None:
        """Leave the turn as it is."""
        self.is_over = True
        self._keeping.cancel()
        if self._writing is not None:
            self._writing.cancel()

    async def _settle(self, state: TurnState, **how: Any) -> None:
        if self.is_over and self._state is state:
            return
        await self._written()
        self._keeping.cancel()  # who asks behind this is told that the turn is over
        told, self._about = {"state": state, **self._about, **how}, {}
        await self._send("settle", {name: value for name, value in told.items() if value is not None})
        self._state = state
        self.leave()

    # Inside

    async def _say(self, text: str, *, is_thought: bool) -> None:
        self._check()
        if text:
            self._unwritten.append((is_thought, text))
            is_much = sum(len(piece) for _, piece in self._unwritten) > MOST_UNWRITTEN
            if is_much or (self._writing is not None and self._writing.done()):
                await self._written()
            if self._writing is None:
                self._writing = asyncio.create_task(self._write())
                self._writing.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _write(self) -> None:
        """Write what has come, until nothing has. After a piece that could not be written nothing is: it would leave a
        gap."""
        while self._unwritten:
            pieces, self._unwritten = self._unwritten, []
            for is_thought, of in groupby(pieces, lambda piece: piece[0]):
                said = {"offset": self._offset, "text": "".join(text for _, text in of), "reasoning": is_thought}
                try:
                    self._offset = (await self._send("draft", said))["offset"]
                except ThreadkeepError:
                    self._unwritten.clear()
                    raise

    async def _written(self) -> None:
        """Wait until everything that was said is stored."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing
        await self._write()

    async def _add(self, *entries: Mapping[str, Any]) -> None:
        self._check()
        await self._written()
        about, self._about = ([{"type": "usage", **self._about}] if self._about else []), {}
        await self._send("entries", {"entries": [*about, *entries]})
        self._offset = 0

    async def _send(self, verb: str, body: Mapping[str, Any]) -> Any:
        self._check()
        self._spoken.set()
        try:
            return await self._asked("POST", f"/{verb}", json=body, headers=self._headers)
        except TurnOver as over:
            self._note_end(over.state)
            raise

    async def _asked(self, method: str, path: str, **how: Any) -> Any:
        return await self._log.wire.call(method, f"{self._log.path}/turns/{self.number}{path}", **how)

    async def _keep(self) -> None:
        """Keep the turn while nothing is said, and cancel the loop where it stands if the turn is over."""
        while True:
            self._spoken.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._spoken.wait(), SILENCE)
                continue
            try:
                await self._asked("POST", "/entries", json={"entries": []}, headers=self._headers)
            except TurnOver as over:
                if not self.is_over:
                    self._note_end(over.state)
                    self.was_stopped = True
                    if self._task is not None:
                        self._task.cancel()
                return
            except ThreadkeepError:
                continue

    def _note_end(self, state: TurnState | None) -> None:
        self.is_over, self._state = True, state or TurnState.INTERRUPTED
        self.was_stopped = self._state is TurnState.CANCELLED

    def _check(self) -> None:
        if self.is_over:
            raise TurnOver(self._state)


class RemoteLoops(Loops):
    """The turns of a conversation on a server that loops of this process run."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @asynccontextmanager
    async def begin(
        self,
        content: str | list[Any] | None,
        *,
        key: str | None = None,
        id: str | None = None,
        message: str | None = None,
        parent: int | None = None,
        **how: Any,
    ) -> AsyncGenerator[RemoteLoopTurn, None]:
        given = {"content": content, "turn_id": id, "id": message, **how}
        body = {name: value for name, value in given.items() if value is not None}
        body |= {} if parent is None else {"parent": parent or None}
        path = f"{self._log.path}/turns"
        begun = await self._log.wire.call("POST", path, json=body, key=key)
        if begun["state"] == TurnState.QUEUED:
            await self._wait_for(begun["turn"])
        is_new = begun["token"] is not None and not (key or id or message)
        async with self._held(begun) if is_new else self.take_up(begun["turn"]) as turn:
            yield turn

    @asynccontextmanager
    async def take_up(self, number: int) -> AsyncGenerator[RemoteLoopTurn, None]:
        path = f"{self._log.path}/turns/{number}"
        taken = await self._log.wire.call("POST", f"{path}/lease", params={"anew": True})
        async with self._held({**await self._log.wire.call("GET", path), "token": taken["token"]}) as turn:
            yield turn

    async def _wait_for(self, number: int) -> None:
        """Wait until a turn is in the queue no more."""
        shown = await self._log.read(limit=1)
        queued = [turn["id"] for turn in shown["turns"] if turn["state"] == TurnState.QUEUED]
        async with aclosing(self._log.follow(Cursor.decode(shown["cursor"], shown["id"]))) as events:
            while number in queued and getattr((await anext(events)).what, "turn", None) != number:
                pass

    @asynccontextmanager
    async def _held(self, begun: Mapping[str, Any]) -> AsyncGenerator[RemoteLoopTurn, None]:
        """End a turn with the block that runs it."""
        turn = RemoteLoopTurn(self._log, begun)
        try:
            yield turn
            if not turn.is_over:
                await turn.complete()
        except (TurnOver, asyncio.CancelledError) as error:
            if turn.was_stopped:
                if isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) is not None:
                    task.uncancel()
                return
            if isinstance(error, asyncio.CancelledError):
                await turn.end_as(TurnState.INTERRUPTED, detail="the loop was cancelled")
            raise
        except Exception as error:
            code = error.code if isinstance(error, ThreadkeepError) else "loop_failed"
            failure = Failure(code=code, detail=f"{type(error).__name__}: {error}")
            await turn.end_as(TurnState.FAILED, failure=failure.model_dump())
            raise
        finally:
            turn.leave()


def _id(call: ToolCall | str) -> str:
    return call if isinstance(call, str) else call.id


def _shown(blocks: Sequence[AnyBlock]) -> list[dict[str, Any]]:
    return [block.model_dump(mode="json") for block in blocks]
