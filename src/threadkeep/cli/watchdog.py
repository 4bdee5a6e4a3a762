"""A watchdog for a server that stands still: it says where, and ends the process, so that a supervisor starts it anew.

Two things freeze a server. An event loop that is busy or blocked: other threads go on, so a thread of ours notices. And
C code that does not release the interpreter, such as a regular expression that backtracks: no Python code runs any
more. For that, our thread keeps resetting a system timer of processor time, whose signal is handled without Python. In
both cases every thread's stack goes to standard error, and a signal ends the process. A process that was suspended
meanwhile does not count as frozen.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

TICKS = 20
"""How often the loop is looked at within the limit."""


@contextmanager
def watchdog(limit: float) -> Iterator[None]:
    """Watch the running event loop; end the process if it stands still for so many seconds. 0 watches nothing."""
    if not limit or sys.platform == "win32":  # which has no such timers
        yield
        return
    over = threading.Event()
    watch = _Watch(asyncio.get_running_loop(), limit, over)
    # The handler is C code that needs no interpreter; behind it comes the default action of the signal: the end.
    faulthandler.register(signal.SIGPROF, file=2, all_threads=True, chain=True)
    thread = threading.Thread(target=watch.run, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.unregister(signal.SIGPROF)


class _Watch:
    """Looks at one loop, in a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float, over: threading.Event) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._limit = limit
        self._over = over
        self._moved = threading.Event()

    def run(self) -> None:
        """Check again and again. Checks are counted, not time: a suspended process only makes one check late."""
        missed = 0
        self._moved.set()
        signal.setitimer(signal.ITIMER_PROF, self._limit)
        while not self._over.wait(self._limit / TICKS):
            signal.setitimer(signal.ITIMER_PROF, self._limit)
            if self._moved.is_set():
                missed = 0
                self._moved.clear()
                self._loop.call_soon_threadsafe(self._moved.set)
                continue
            missed += 1
            if missed == TICKS // 2:
                seconds = self._limit / 2
                logger.warning("the event loop has not moved for %g s; it stands here:\n%s", seconds, self._where())
            elif missed >= TICKS:
                os.write(2, f"threadkeep: the server stood still for {self._limit:g} s and ends itself\n".encode())
                signal.raise_signal(signal.SIGPROF)

    def _where(self) -> str:
        return "".join(traceback.format_stack(sys._current_frames()[self._loop_thread]))
