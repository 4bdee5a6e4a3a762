"""A turn on a server: what happens in it, and how it ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, TurnWaiting
from threadkeep.conversation.turn import TurnState
from threadkeep.turn_handle import TurnHandle
from threadkeep_client.log import Log


class RemoteTurn(TurnHandle):
    """A turn as `TurnHandle` is, on a server. Its first entries are not known here."""

    def __init__(self, log: Log, number: int, *, replayed: bool = False) -> None:
        self._log = log
        self.number = number
        self.entries = ()
        self.replayed = replayed

    async def open_state(self) -> TurnState | None:
        """Return the state of an open turn (queued, running, waiting); None if it has ended."""
        shown = await self._shown()
        return None if shown is None else TurnState(shown["state"])

    async def _shown(self) -> dict[str, Any] | None:
        shown = await self._log.read(limit=1)
        return next((turn for turn in shown["turns"] if turn["id"] == self.number), None)

    async def events(self, after: Cursor | None = None) -> AsyncGenerator[Event, None]:
        """Yield what happens in the conversation from the turn's beginning (or the cursor) on, until the turn ends or
        waits for a person."""
        start = Cursor(seq=self.number - 1) if after is None else after
        async with aclosing(self._log.follow(start)) as events:
            async for event in events:
                yield event
                if event.ends(self.number) and await self.is_over(event):
                    return

    async def is_over(self, event: Event) -> bool:
        """Whether an event is the last of the turn: it ended, or waits for a person and has not gone on since."""
        if not event.ends(self.number) or not isinstance(event.what, TurnWaiting):
            return event.ends(self.number)
        shown = await self._shown()
        return shown is not None and len(shown["calls"]) > 0 and set(shown["calls"]) <= set(event.what.calls)
