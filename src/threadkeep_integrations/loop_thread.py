"""An event loop in a thread, for callers that are not asynchronous: a terminal, synchronous programs."""

import asyncio
import contextvars
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import aclosing, contextmanager
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own: turns, leases and recovery go on in it while the main thread waits at a
    prompt and handles Ctrl-C. Use it in `with`, or close it."""

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
