"""What was found wrong with the files of a folder, and what was done about it."""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

from threadkeep.conversation.clock import Clock

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileProblem:
    """A file that is not as it should be, and what was done about it."""

    path: Path
    detail: str
    at: datetime


MOST = 1000


class FileProblems:
    """The newest problem of each file, of so many files. Safe to be used by several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._found: dict[Path, FileProblem] = {}
        self._lock = Lock()

    def report(self, path: Path, detail: str) -> None:
        """Report a problem, once as long as it stays the same."""
        with self._lock:
            known = self._found.pop(path, None)
            if len(self._found) >= MOST:
                self._found.pop(next(iter(self._found)))
            self._found[path] = FileProblem(path, detail, self._clock())
        if known is None or known.detail != detail:
            logger.warning("%s: %s", path, detail)

    def all(self) -> tuple[FileProblem, ...]:
        with self._lock:
            return tuple(self._found.values())
