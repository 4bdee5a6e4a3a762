"""What the worker processes of one server share: counts, numbers for `/metrics`, and word of each other's changes.

It is made before they are forked. A worker that is replaced overlaps with the new one: there is room for one more.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from threadkeep.errors import InvalidValue
from threadkeep.server.metrics import count_in_files
from threadkeep.settings import Settings
from threadkeep.tally import Tally
from threadkeep.turn.worker_channel import Ear, WorkerChannel, make_ears


def count_of(settings: Settings) -> int:
    """Return how many workers to serve with; InvalidValue if several cannot share what they would have to."""
    count = settings.workers
    if count == "auto":
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if count > 1 and settings.store == "memory:":
        raise InvalidValue("processes do not share memory: with memory: serve with --workers 1")
    if count > 1 and settings.spool_dir:
        raise InvalidValue("a spool is of one process alone: with a spool serve with --workers 1")
    return count


@dataclass(frozen=True)
class Shared:
    """What is shared; by default with nobody."""

    workers: int = 1
    tally: Tally = field(default_factory=Tally)
    ears: Sequence[Ear] = ()
    folder: Path | None = None

    def join(self, number: int) -> WorkerChannel | None:
        """Be the worker of this number from now on; return its channel to the others."""
        if self.folder is None:
            return None
        self.tally.join(number)
        count_in_files(self.folder, number)
        return WorkerChannel(self.ears, number)

    def clear(self, number: int) -> None:
        """Give back what a worker held that has ended."""
        self.tally.clear(number)
        mark_process_dead(number, self.folder)  # type: ignore[no-untyped-call]


@contextmanager
def shared_by(count: int) -> Iterator[Shared]:
    """Make what so many workers share; the process that made it removes it at the end."""
    maker, folder = os.getpid(), Path(tempfile.mkdtemp(prefix="threadkeep-"))
    ears = make_ears(count + 1)
    try:
        with (folder / "lock").open("wb") as lock:
            yield Shared(count, Tally(count + 1, lock), ears, folder)
    finally:
        for end in (end for ear in ears for end in ear):
            end.close()
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)
