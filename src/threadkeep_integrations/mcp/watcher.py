"""Starts a tool server and ends it together with everything that it started: `python watcher.py COMMAND ARGUMENT …`.

The server inherits standard input and output. When it ends, or when nobody holds the other end of its standard input
any more (we closed it, or were killed), its whole process group is ended, and on Linux also what has left that group.
Imports nothing of Threadkeep.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 2.0
"""How long a server may take to end by itself after its input has ended, and again after it was told to end."""

PR_SET_CHILD_SUBREAPER = 36
"""On Linux: whoever loses its parent below this process becomes a child of it."""


def watch(command: list[str]) -> None:
    """Run a command until it ends, or until a while after its standard input has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        server = subprocess.Popen(command, start_new_session=True)  # noqa: S603 - the settings name it
    except OSError as error:
        sys.exit(f"{error.strerror}: {command[0]}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whatever ends us must not leave the server behind
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in (1, 2):
        os.dup2(nothing, pipe)  # so that the server's end is the end of its pipes
    threading.Thread(target=_end_after_input, args=(server.pid,), daemon=True).start()
    server.wait()
    end_group(server.pid)
    while left := children():
        for child in left:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _end_after_input(group: int) -> None:
    ends = select.poll()
    ends.register(0, 0)  # only hang-ups, which are always told: what is written is for the server
    ends.poll()
    time.sleep(GRACE_SECONDS)
    end_group(group)


def end_group(group: int) -> None:
    """End a process group: it is told to, and killed if anything of it is left after a while."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        until = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < until:
            with suppress(PermissionError):  # macOS says so of a process that has ended and was not yet waited for
                os.killpg(group, 0)
            time.sleep(0.01)
        os.killpg(group, signal.SIGKILL)


def children() -> list[int]:
    """Return the processes whose parent this one is, where `/proc` tells."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parent = status.read_text(errors="replace").rpartition(") ")[2].split()[1]
            found += [int(status.parent.name)] if parent == str(os.getpid()) else []
    return found


if __name__ == "__main__":
    watch(sys.argv[1:])
