"""A handle on one turn of a conversation: what happens in it, and how it ends. Made by `ConversationHandle`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, MessageCompleted, TurnEnded, TurnWaiting
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation.value import checked
from threadkeep.errors import InvalidCursor
from threadkeep.store.base import MAX_LIMIT
from threadkeep.store.values import Begun
from threadkeep.turn.active_turn import EngineDeps
from threadkeep.turn.follow import MOVED, follow


@dataclass(frozen=True, kw_only=True)
class TurnOutcome:
    """The result of a turn: its answer, whole or cut off, with its place in the log (both None if there is no answer),
    the tool calls that were made, and how it ended, or that it waits for a person."""

    message: Message | None
    seq: int | None
    calls: tuple[ToolCall, ...]
    end: TurnEnded | TurnWaiting


class TurnHandle:
    """One turn. If it was just begun or queued, `entries` are its first ones and `replayed` is whether a repeated key
    found it."""

    def __init__(
        self, deps: EngineDeps, scope: Scope, conversation: str, number: int, begun: Begun | None = None
    ) -> None:
        self._deps = deps
        self._of = scope, conversation
        self._begun = begun
        self.number = number
        self.entries = begun.entries if begun else ()
        self.replayed = begun.replayed if begun else False

    async def open_state(self) -> TurnState | None:
        """Return the state of an open turn (queued, running, waiting); None if it has ended."""
        if self._begun is not None and not self.replayed:
            return TurnState.QUEUED if self._begun.lease is None else TurnState.RUNNING
        turns = await self._deps.store.turns(*self._of)
        return next((turn.state for turn in turns if turn.number == self.number), None)

    @checked
    async def events(self, after: Cursor | None = None) -> AsyncGenerator[Event, None]:
        """Yield what happens in the conversation from the turn's beginning (or the cursor) on, until the turn ends or
        waits for a person."""
        start = Cursor(seq=self.number - 1) if after is None else after
        while True:
            try:
                async with aclosing(follow(self._deps.store, self._deps.bus, *self._of, start)) as events:
                    async for event in events:
                        yield event
                        if event.ends(self.number) and await self.is_over(event):
                            return
            except InvalidCursor:
                # It waited for the end of an outage, and has another number in the database.
                moved = self._deps.store.operations.spool_state(*self._of).moved
                if self.number not in moved:
                    raise InvalidCursor(MOVED) from None
                self.number = moved[self.number]
                start = Cursor(seq=self.number - 1)

    async def is_over(self, event: Event) -> bool:
        """Whether an event is the last of the turn: it ended, or waits for a person and has not gone on since."""
        if not event.ends(self.number):
            return False
        if not isinstance(event.what, TurnWaiting):
            return True
        later = (await self._deps.store.log(*self._of, Cursor(seq=event.what.seq), limit=MAX_LIMIT)).entries
        return not any(entry.turn == self.number for entry in later)

    async def outcome(self) -> TurnOutcome:
        """Wait until the turn ends or waits for a person, and return its result."""
        message, seq, end = None, None, None
        calls: list[ToolCall] = []
        async with aclosing(self.events()) as events:
            async for event in events:
                match event.what:
                    case MessageCompleted(turn=self.number, message=said):
                        calls += said.tool_calls
                        if said.role is Role.ASSISTANT:
                            message, seq = said, event.what.seq
                    case TurnEnded(turn=self.number) | TurnWaiting(turn=self.number):
                        end = event.what
        if end is None:
            raise AssertionError("the events of a turn end with its end")
        return TurnOutcome(message=message, seq=seq, calls=tuple(calls), end=end)

    async def answer(self) -> Message | None:
        """Wait for the end of the turn and return its answer, whole or cut off; None if there is none."""
        return (await self.outcome()).message
