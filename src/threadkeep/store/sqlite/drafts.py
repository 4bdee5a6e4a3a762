"""The text of all messages that are being written: what comes at about the same time is one piece of work and one
commit, whichever conversations it belongs to."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property

from threadkeep.store.rules import PACE_SECONDS, AddedText

Stored = Sequence[Exception | None]
"""For each text why it was refused, none if it is stored."""


class Drafts:
    """Stores texts with `store`, and tells `tell` of each that is stored, before its writer hears of it."""

    def __init__(
        self, store: Callable[[Sequence[AddedText]], Awaitable[Stored]], tell: Callable[[AddedText], None]
    ) -> None:
        self._store = store
        self._tell = tell
        self._waiting: list[tuple[AddedText, asyncio.Future[None]]] = []
        self._timer: asyncio.Handle | None = None
        self._storing: asyncio.Task[None] | None = None
        self._hastens = False
        self._next = 0.0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()  # a store in memory may be made before there is one

    def add(self, text: AddedText) -> asyncio.Future[None]:
        """Take a text; return what is done when it is stored or refused."""
        done = self._loop.create_future()
        self._waiting.append((text, done))
        is_hasty, self._hastens = not (text.offset or self._hastens), self._hastens or not text.offset
        if self._storing is None and (self._timer is None or is_hasty):
            self._schedule()
        return done

    async def close(self) -> None:
        """Store what was taken, at once."""
        while self._waiting or self._storing is not None:
            await asyncio.wait([self._storing or self._begin()])

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        soon = self._hastens or self._loop.time() >= self._next
        self._timer = self._loop.call_soon(self._begin) if soon else self._loop.call_at(self._next, self._begin)

    def _begin(self) -> asyncio.Task[None]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._storing = self._loop.create_task(self._store_all())
        return self._storing

    async def _store_all(self) -> None:
        waiting, self._waiting, self._hastens = self._waiting, [], False
        try:
            answers = await self._store([text for text, _ in waiting])
        except Exception as failure:
            # Nobody may wait for ever, whatever went wrong here.
            answers = [failure] * len(waiting)
        finally:
            self._storing, self._next = None, self._loop.time() + PACE_SECONDS
            if self._waiting:
                self._schedule()
        for (text, done), error in zip(waiting, answers, strict=True):
            if error is None:
                self._tell(text)
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
