"""An event loop in a thread of its own, for callers that are not asynchronous: the terminal and synchronous programs.

Turns, their leases and the recovery of others go on in there while a person thinks or a terminal is slow, and the main
thread is free to wait at a prompt and to hear Ctrl-C.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import aclosing, contextmanager
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for threads that are not asynchronous. Used in `with`, or closed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_closed = False
        self._is_ready = Event()
        self._thread = Thread(target=self._serve, name="threadkeep", daemon=True)
        self._thread.start()
        self._is_ready.wait()

    def _serve(self) -> None:
        # Ctrl-C is for the main thread, which may sit in a prompt that only a signal of its own interrupts. Threads and
        # programs that are started from here inherit this, so that cancelling a turn does not end a tool's server.
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
        """Whether the loop takes anything up: a process that was forked has no such thread."""
        return not self._is_closed and self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something to its end and return its result; CancelledError if the loop is closed before that."""
        with self._lock:  # so that nothing is handed over behind the end, where nobody would ever answer
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
        """Run something without waiting for it; `failed` hears of an error."""

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
