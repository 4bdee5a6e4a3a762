"""Writing an answer down while it comes: what arrives during a commit goes together in the next."""

import asyncio

from threadkeep.conversation.draft_text import SAID, THOUGHT, ends_thinking
from threadkeep.conversation.turn import Lease
from threadkeep.store.base import Store

MOST_UNWRITTEN = 64 * 1024
"""Characters that may wait for a commit before the model is held back."""


class DraftWriter:
    """Writes one message, from its beginning or behind what is `written` of it. The first text is written at once;
    there is no timer."""

    def __init__(self, store: Store, lease: Lease, message: str, written: str = "") -> None:
        self.message = message
        self.offset = len(written)
        self._written: list[str] = [written]
        self.is_thought = ends_thinking(written)
        self._store = store
        self._lease = lease
        self._waiting: list[str] = []
        self._size = 0
        self._text = ""
        self._writing: asyncio.Future[None] | None = None

    async def think(self, text: str, *, begins: bool) -> None:
        """Take some reasoning, as `write` takes text; `begins` starts a new piece of it."""
        self.is_thought = True
        if self._take(THOUGHT + text if begins else text):
            await self._result()
            self._begin()

    async def write(self, text: str) -> None:
        """Take text; wait only if much of it is not written yet. Raises the error of an earlier write."""
        follows_thought, self.is_thought = self.is_thought, False
        if self._take(SAID + text if follows_thought else text):
            await self._result()
            self._begin()

    def _take(self, text: str) -> bool:
        """Take text; return whether there is a write to be waited for."""
        self._waiting.append(text)
        self._size += len(text)
        if self._writing is None:
            self._begin()
            return False
        return self._writing.done() or self._size > MOST_UNWRITTEN

    @property
    def so_far(self) -> str:
        """What is written, with its marks."""
        return "".join(self._written)

    async def finish(self) -> str:
        """Wait until all is written, and return it with its marks; after an error, what was written before it."""
        self._begin()
        while self._writing is not None:
            await self._result()
        return self.so_far

    async def drop(self, timeout: float) -> None:
        """Stop: a write that has begun is finished, unless the store hangs; the rest is discarded."""
        self._waiting.clear()
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=timeout)
            if self._writing is not None:
                self._writing.cancel()

    def _begin(self) -> None:
        """Write what waits, unless a write is under way or has failed."""
        if self._writing is None and self._waiting:
            self._writing = asyncio.create_task(self._write())
            self._writing.add_done_callback(self._note)

    async def _write(self) -> None:
        """Write what has come by the time that this begins."""
        whole = "".join(self._waiting)
        # In pieces, so that of a text that is too large for an entry as much as possible is kept.
        self._text, rest = whole[:MOST_UNWRITTEN], whole[MOST_UNWRITTEN:]
        self._waiting[:] = [rest] if rest else []
        self._size = len(rest)
        if self._text:
            await self._store.write(self._lease, self.message, self.offset, self._text)

    def _note(self, writing: asyncio.Future[None]) -> None:
        """Take note of a write that is over, and write what has come meanwhile. A failed one stays, to be told of."""
        if self._writing is writing and not writing.cancelled() and writing.exception() is None:
            self._written.append(self._text)
            self.offset += len(self._text)
            self._writing = None
            self._begin()

    async def _result(self) -> None:
        """Wait for the write that is under way; if this is cancelled, it can be waited for again."""
        writing = self._writing
        if writing is None:
            return
        if not writing.done():
            await asyncio.wait((writing,))
        self._note(writing)
        if self._writing is writing:
            self._writing = None
            # Writing on after text that could not be written would leave a gap.
            self._waiting.clear()
            writing.result()
