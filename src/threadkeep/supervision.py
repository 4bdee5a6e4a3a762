"""Background tasks that never die silently: what one raises is logged, and it is run again after a pause.

Every task that is to live as long as the process is started as `asyncio.create_task(supervised(name, work))`. Work that
somebody waits for needs none of this: its error reaches whoever waits.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from threadkeep.errors import ThreadkeepError

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds before work that failed is run again: doubled after each failure, from the first to the longest."""


async def supervised(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` until it returns. Whatever it raises is logged under `name`, and it is run again, for ever.

    Only cancelling the task that runs this ends it; a cancellation that comes out of the work itself is an error like
    any other. Work that ran for longer than the longest pause has recovered: its next failure has a short pause again.
    """
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            await work()
        except ThreadkeepError as error:
            logger.warning("%s failed and is tried again in %g s: %s", name, pause, error)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            logger.exception("%s failed and is tried again in %g s", name, pause)
        else:
            return
        if time.monotonic() - began > LONGEST_PAUSE:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def is_being_cancelled() -> bool:
    """Whether somebody wants the present task to end, as opposed to a cancellation that came out of its own work."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
