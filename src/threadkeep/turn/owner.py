"""Who owns a turn: a name for this process and this use of a store, from which another process of the same machine can
tell whether it is gone.

A process is told by its number and its start, because numbers are used again; and by its machine and its space of
numbers, because containers have their own. Where that cannot be known (no `/proc`, another machine, another container)
nobody is taken for gone: then the lease runs out by itself.
"""

import os
import socket
from pathlib import Path

from threadkeep.conversation.ids import new_id

_SEPARATOR = " "


def new_owner() -> str:
    """Return a name that no other owner has."""
    pid = os.getpid()
    return _SEPARATOR.join((*_here(), str(pid), _started(pid) or "unknown", new_id()))


def is_gone(owner: str) -> bool:
    """Whether the process of an owner has surely ended."""
    host, space, pid, started, *_ = (*owner.split(_SEPARATOR), "", "", "", "")
    if (host, space) != _here() or not pid.isdigit() or started == "unknown":
        return False
    return _started(int(pid)) != started


def _here() -> tuple[str, str]:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = "unknown"
    return socket.gethostname(), space


def _started(pid: int) -> str | None:
    """Return when a process started, in the clock ticks of the system; None if there is none, or nobody can tell."""
    try:
        # The name of the program, in parentheses, may hold anything.
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else fields[18]
    except (OSError, ValueError, IndexError):
        return None
