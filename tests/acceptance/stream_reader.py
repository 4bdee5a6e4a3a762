"""A reader of an event stream that always comes back: it keeps its cursor, and everything that it was told."""

from dataclasses import dataclass, field
from typing import Any

import httpx
from httpx_sse import ServerSentEvent, aconnect_sse

UNLOGGED = ("presence", "error", "conversation.spooled", "turn.retrying")
"""Events that are in no log: they have no id of their own (the client shows the one before), and may come again."""
PIECES = ("message.started", "reasoning.delta", "text.delta")
"""What a message is told by while it is being written."""
ENDS = ("turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted")


@dataclass
class Reader:
    """Reads one conversation from its beginning."""

    path: str
    events: list[ServerSentEvent] = field(default_factory=list)
    turns: int = 1

    @property
    def is_done(self) -> bool:
        """Whether so many turns have ended."""
        return self.ended >= self.turns

    @property
    def ended(self) -> int:
        """How many turns have ended."""
        return sum(event.event in ENDS for event in self.events)

    async def read(self, client: httpx.AsyncClient, enough: int | None = None) -> None:
        """Read on behind the cursor until the turn ends, the stream breaks off, or `enough` events have come."""
        headers = {"Last-Event-ID": self.events[-1].id} if self.events else {}
        try:
            async with aconnect_sse(client, "GET", f"{self.path}/events?after=0", headers=headers) as source:
                assert source.response.status_code == 200, await source.response.aread()
                async for event in source.aiter_sse():
                    if event.data and event.event not in UNLOGGED:
                        self.events.append(event)
                    if self.is_done or (enough is not None and len(self.events) >= enough):
                        return
        except httpx.TransportError:
            return

    def told(self) -> list[tuple[str, Any]]:
        """Return what every reader is told alike: all but the pieces that a text came in."""
        return [(event.event, event.json()) for event in self.events if event.event not in PIECES]

    def check(self) -> None:
        """Hold what came in pieces against what was stored: no gap, no repeat."""
        ids = [event.id for event in self.events]
        assert all(ids)
        assert len(set(ids)) == len(ids), "an event came twice"
        pieces: dict[str, str] = {}
        stored: dict[str, str] = {}
        for event in self.events:
            if event.event == "text.delta":
                message = event.json()["message"]
                assert message not in stored, "text came behind the message that it belongs to"
                pieces[message] = pieces.get(message, "") + event.json()["text"]
            elif event.event == "message.completed":
                stored[event.json()["message"]["id"]] = event.json()["message"]["content"]
        for message, text in pieces.items():
            assert text == stored[message], "the pieces are not the stored text"
