"""A thread for one call of a synchronous function that somebody else wrote: a tool, a rule of a script.

Not a pool: a function that hangs cannot be stopped, and must neither take a place from another call nor keep the
process from ending.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(function: Callable[[], Result]) -> Result:
    """Call the function in a thread of its own. A cancellation stops the waiting, not the function."""
    loop = asyncio.get_running_loop()
    finished = asyncio.Event()
    ended: list[tuple[Result] | BaseException] = []

    def call() -> None:
        try:
            ended.append((function(),))
        except BaseException as error:
            ended.append(error)
        _tell(loop, finished)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), name="off-loop", daemon=True).start()
    await finished.wait()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0][0]


def _tell(loop: asyncio.AbstractEventLoop, finished: asyncio.Event) -> None:
    """Wake the waiting task, if its loop is still there."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(finished.set)
