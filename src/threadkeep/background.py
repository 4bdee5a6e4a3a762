"""Work in the background: supervised tasks that never die silently, a thread for one call.

Every task that is to live as long as the process is started as `asyncio.create_task(supervised(name, work))`. Work that
somebody waits for needs no supervision: its error reaches the waiting caller.
"""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from threadkeep.errors import ThreadkeepError

logger = logging.getLogger(__name__)

T = TypeVar("T")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds before work that failed is run again: doubled after each failure, from the first to the longest."""


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
