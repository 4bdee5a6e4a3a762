"""A server that may be killed: it runs in a child process, which is started again.

For `make run`, where the page invites people to kill the server. A real server has a supervisor of the system.
"""

import os
import signal
import threading
import time
from collections.abc import Callable

PAUSE = 4.0
"""How long a killed server is away: long enough for a person to see that the page waits."""


def serve_again(serve: Callable[[], int], pause: float = PAUSE) -> int:
    """Serve in a child process, and again whenever it was killed. Returns its status once it ended otherwise."""
    is_left, hold = os.pipe()  # the child reads the end of it when this process is gone
    while True:
        child = os.fork()
        if child == 0:
            os.close(hold)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            threading.Thread(target=_end_with, args=(is_left,), daemon=True).start()
            return serve()
        # A terminal interrupts both; a second signal would end the child at once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _, to=child: os.kill(to, number))  # type: ignore[misc]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != -signal.SIGKILL:
            return status
        # Nobody is there to pass a signal on to.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        print(f"The server was killed. It comes back in {pause:g} s.", flush=True)
        time.sleep(pause)


def _end_with(is_left: int) -> None:
    """End this process when the one that started it is gone."""
    os.read(is_left, 1)
    os._exit(1)
