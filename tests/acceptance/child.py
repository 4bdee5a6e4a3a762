"""Children of this process: work that is forked from it, so that whoever is killed costs little to start.

Forking is safe only in a process that has imported everything and never opened a store or started a thread itself.
"""

import os
import sys
import traceback
from collections.abc import Callable


def fork(work: Callable[[], None], *unused: int) -> int:
    """Run the work in a child of this process, and return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for one in unused:
            os.close(one)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def in_child(work: Callable[[int], None]) -> bytes:
    """Run the work in a child and return what it wrote; an error in it is ours."""
    reader, out = os.pipe()
    child = fork(lambda: work(out), reader)
    os.close(out)
    told = b""
    while piece := os.read(reader, 65536):
        told += piece
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"the check itself failed: {status}")
    return told
