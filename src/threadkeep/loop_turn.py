"""The contract of a turn that a loop of your own runs; a package keeps it (`threadkeep_loops`, also over HTTP).

Everything is stored before a verb returns, but for text, which is stored in groups as it comes, and whole at the latest
with what follows it. What has an id is stored once, so a loop that is not sure says it again.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.entry import Approval
from threadkeep.conversation.message import Message, ToolCall, Usage
from threadkeep.conversation.parts import Part
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import LeaseLost


class TurnOver(LeaseLost, code="turn_over"):
    """The turn has ended, was stopped, or was taken up by another; `state` says how it is now."""

    def __init__(self, state: TurnState | None = None) -> None:
        super().__init__(f"This turn is no longer yours: it is {state or 'gone'}.")
        self.state = state


class LoopTurn(Protocol):
    """One turn that a loop of your own runs: its number, the id that was chosen for it, how it is as far as this loop
    knows, whether it has ended, waits for a person or was left, and what people decided about its calls, by their ids.

    `text` goes on with the answer, `reasoning` with what the model thinks; `used` notes what the next message cost, and
    parts that stand behind its text.
    `call` and `calls` store calls, which only then may run, and `result` what they returned. `block` shows blocks at
    the end of the answer so far; further text begins another message, as after whole ones (`message`).
    `ask_approval` pauses the turn until a person has decided about calls (none: those without a result), and returns
    whether all may run; without `wait` it stays paused, to be taken up again. All but `used` raise `TurnOver` once it
    is over."""

    @property
    def number(self) -> int: ...
    @property
    def id(self) -> str | None: ...
    @property
    def state(self) -> TurnState: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def decisions(self) -> Mapping[str, Approval]: ...
    async def text(self, text: str) -> None: ...
    async def reasoning(self, text: str) -> None: ...
    def used(self, usage: Usage | None = None, model: str | None = None, parts: Sequence[Part] = ()) -> None: ...
    async def call(self, name: str, args: Mapping[str, Any] | None = None, *, id: str | None = None) -> ToolCall: ...
    async def calls(self, *calls: ToolCall) -> None: ...
    async def result(
        self,
        call: ToolCall | str,
        content: str = "",
        *,
        error: str | None = None,
        duration_ms: int | None = None,
        blocks: Sequence[AnyBlock] = (),
    ) -> None: ...
    async def block(self, *blocks: AnyBlock) -> None: ...
    async def change_state(self, new: Mapping[str, Any], unset: Sequence[str] = ()) -> None: ...
    async def message(self, *messages: Message) -> None: ...
    async def ask_approval(self, *calls: ToolCall | str, wait: bool = True) -> bool: ...
    async def complete(self, *, detail: str | None = None) -> None: ...
    async def fail(self, code: str, detail: str) -> None: ...
    async def cancel(self, *, detail: str | None = None) -> None: ...


class Loops(Protocol):
    """The turns of one conversation that loops of your own run. Each ends with its block: as completed, as failed by an
    exception, as interrupted if the task is cancelled, or as it was stopped, which ends the block quietly. One that was
    taken up keeps what was half written as interrupted."""

    def begin(self, content: str | list[Any] | None, **how: Any) -> AbstractAsyncContextManager[LoopTurn]: ...
    def take_up(self, number: int) -> AbstractAsyncContextManager[LoopTurn]: ...
