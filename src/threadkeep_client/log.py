"""The log of one conversation on a server: read, and followed across breaks without a gap and without a repeat."""

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event
from threadkeep.errors import ThreadkeepError
from threadkeep_client.events import event_of
from threadkeep_client.wire import PASSING, Pauses, ServerUnreachable, Wire, error_of

PATIENCE = 3600.0
"""For so many seconds a stream that broke is tried again before the error is raised."""


class Log:
    """What happens in a conversation, by its id."""

    def __init__(self, wire: Wire, conversation: str) -> None:
        self.wire = wire
        self.conversation = conversation
        self.path = f"/v1/conversations/{quote(conversation, safe='')}"

    async def read(self, **page: Any) -> dict[str, Any]:
        """Return the conversation with a page of its messages."""
        asked = {name: value for name, value in page.items() if value is not None}
        found: dict[str, Any] = await self.wire.call("GET", self.path, params=asked)
        return found

    async def follow(self, after: Cursor | None) -> AsyncGenerator[Event, None]:
        """Yield every event behind a cursor (none: from now on), for ever."""
        cursor = None if after is None else after.encode(self.conversation)
        if after is None:
            cursor = (await self.read(limit=1))["cursor"]
        pauses = Pauses(PATIENCE)
        while True:
            try:
                async with self.wire.stream(f"{self.path}/events", cursor) as stream:
                    async for name, data, place in stream:
                        if name == "error":
                            raise error_of(data)
                        event = event_of(name, data, place, self.conversation)
                        cursor = place or cursor
                        if event is not None:
                            yield event
                        pauses = Pauses(PATIENCE)
                failed: ThreadkeepError = ServerUnreachable("The server ended the stream.")
            except ServerUnreachable as error:
                failed = error
            except ThreadkeepError as error:
                if error.code not in PASSING:
                    raise
                failed = error
            await pauses.wait_after(failed)
