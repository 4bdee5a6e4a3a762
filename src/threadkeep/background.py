"""Work in the background: supervised tasks that never die silently, a thread for one call, an event loop in a thread.

Every task that is to live as long as the process is started as `asyncio.create_task(supervised(name, work))`. Work that
somebody waits for needs no supervision: its error reaches the waiting caller.
"""

import asyncio
import contextvars
import logging
import signal
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import aclosing, contextmanager
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from threadkeep.errors import ThreadkeepError

logger = logging.getLogger(__name__)

T = TypeVar("T")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds before work that failed is run again: doubled after each failure, from the first to the longest."""


class LoopThread:
    """An event loop in a thread of its own, for callers that are not asynchronous: the terminal, synchronous programs.

    Turns, leases and recovery go on in it while the main thread waits at a prompt and handles Ctrl-C. Use it in `with`,
    or close it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_closed = False
        self._is_ready = Event()
        # With the context of its creator, so that the caller is known.
        context = contextvars.copy_context()
        self._thread = Thread(target=context.run, args=(self._serve,), name="threadkeep", daemon=True)
        self._thread.start()
        self._is_ready.wait()

    def _serve(self) -> None:
        # Ctrl-C is for the main thread, whose prompt only a signal to that thread interrupts. Threads and programs that
        # are started from here inherit the mask, so that cancelling a turn does not end a tool's server.
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with asyncio.Runner() as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._is_ready.set()
        await self._over.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what still runs and end the thread. A second call does nothing."""
        with self._lock:
            if self._is_running():
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _is_running(self) -> bool:
        """Whether the loop accepts work: in a forked process the thread does not exist."""
        return not self._is_closed and self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something to its end and return its result; CancelledError if the loop is closed before that."""
        with self._lock:  # work that is handed over after the end would never be answered
            if not self._is_running():
                work.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, None], failed: Callable[[BaseException], None]) -> None:
        """Run something without waiting for it; `failed` is called with an error."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                failed(error)

        asyncio.run_coroutine_threadsafe(guarded(), self._loop)

    @contextmanager
    def pumping(self, items: AsyncGenerator[T, None], put: Callable[[T | BaseException], None]) -> Iterator[None]:
        """Hand over every item as it comes, and an error as the last one, until the block is left."""

        async def pump() -> None:
            try:
                async with aclosing(items):
                    async for item in items:
                        put(item)
            except Exception as error:
                put(error)

        task = self.run(_started(pump()))
        try:
            yield
        finally:
            self.run(_stopped(task))


async def _started(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))


async def supervised(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` until it returns. Whatever it raises is logged under `name`, and it is run again, for ever.

    Only cancelling the task that runs this ends it, also if the work then fails; a cancellation raised by the work
    itself is an error like any other. Work that ran for longer than the longest pause counts as recovered: its next
    failure has a short pause again. An error of ours that repeats, as in an outage, is logged as a warning only once.
    """
    pause, told = FIRST_PAUSE, ""
    while True:
        began = time.monotonic()
        try:
            await work()
        except ThreadkeepError as error:
            if is_being_cancelled():
                raise asyncio.CancelledError from error
            level = logging.DEBUG if told == str(error) else logging.WARNING
            logger.log(level, "%s failed and is tried again in %g s: %s", name, pause, error)
            told = str(error)
        except (Exception, asyncio.CancelledError) as error:
            if is_being_cancelled():
                raise asyncio.CancelledError from error
            logger.exception("%s failed and is tried again in %g s", name, pause)
        else:
            return
        if time.monotonic() - began > LONGEST_PAUSE:
            pause, told = FIRST_PAUSE, ""
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def is_being_cancelled() -> bool:
    """Whether somebody wants the present task to end, as opposed to a cancellation that came out of its own work."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def in_thread(function: Callable[[], T]) -> T:
    """Call a synchronous function that somebody else wrote (a tool, a rule of a script) in a thread of its own.

    Not in a pool: a function that hangs cannot be stopped, and must neither occupy a worker nor keep the process from
    ending. A cancellation stops the waiting, not the function.
    """
    loop = asyncio.get_running_loop()
    finished = asyncio.Event()
    ended: list[tuple[T] | BaseException] = []

    def call() -> None:
        try:
            ended.append((function(),))
        except BaseException as error:
            ended.append(error)
        _set_finished(loop, finished)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), name="off-loop", daemon=True).start()
    await finished.wait()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0][0]


def _set_finished(loop: asyncio.AbstractEventLoop, finished: asyncio.Event) -> None:
    """Wake the waiting task, if its loop is still there."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(finished.set)
