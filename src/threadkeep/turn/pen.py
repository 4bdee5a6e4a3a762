"""Writing an answer down while it comes: text is committed, then published; what arrives meanwhile goes together."""

import asyncio

from threadkeep.conversation.turn import Lease
from threadkeep.store.base import Store
from threadkeep.turn.bus import Bus, News

MOST_UNWRITTEN = 64 * 1024
"""Characters that may wait for a commit before the model is held back."""


class Pen:
    """Writes one message. The first text is written at once; there is no timer."""

    def __init__(self, store: Store, bus: Bus, lease: Lease, message: str) -> None:
        self.message = message
        self.offset = 0
        self._written: list[str] = []
        self._store = store
        self._bus = bus
        self._lease = lease
        self._waiting: list[str] = []
        self._size = 0
        self._writing: asyncio.Task[None] | None = None

    async def write(self, text: str) -> None:
        """Take text; wait only if much of it is not written yet. Raises what an earlier write has met."""
        self._waiting.append(text)
        self._size += len(text)
        if self._writing is None or self._writing.done():
            await self._result()
            self._writing = asyncio.create_task(self._write())
        elif self._size > MOST_UNWRITTEN:
            await self._result()

    async def finish(self) -> str:
        """Wait until all text is written, and return it."""
        while self._writing is not None:
            await self._result()
            if self._waiting:
                self._writing = asyncio.create_task(self._write())
        return "".join(self._written)

    async def _result(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            await asyncio.shield(writing)

    async def _write(self) -> None:
        while self._waiting:
            text = "".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            await self._store.write(self._lease, self.message, self.offset, text)
            news = News(self.message, self.offset, text)
            self._written.append(text)
            self.offset += len(text)
            self._bus.publish(self._lease.scope.tenant, self._lease.conversation, news)
