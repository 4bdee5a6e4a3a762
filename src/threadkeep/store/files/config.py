"""What all conversations of one folder share, and the problems with its files that were found."""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.scope import LOCAL, Scope

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Problem:
    """A file that is not as it should be, and what was done about it."""

    path: Path
    detail: str
    at: datetime


class Problems:
    """The newest problem of each file. Safe to be used by several threads."""

    def __init__(self) -> None:
        self._found: dict[Path, Problem] = {}
        self._lock = Lock()

    def report(self, path: Path, detail: str, at: datetime) -> None:
        """Report a problem, once as long as it stays the same."""
        with self._lock:
            known = self._found.get(path)
            self._found[path] = Problem(path, detail, at)
        if known is None or known.detail != detail:
            logger.warning("%s: %s", path, detail)

    def all(self) -> tuple[Problem, ...]:
        with self._lock:
            return tuple(sorted(self._found.values(), key=lambda problem: problem.at))


@dataclass(frozen=True)
class FolderConfig:
    """The folder of a tenant, and what is needed to work in it."""

    folder: Path
    tenant: str
    clock: Clock
    max_bytes: int
    problems: Problems

    @property
    def hidden(self) -> Path:
        """The folder with the journals."""
        return self.folder / ".threadkeep"

    @property
    def importing(self) -> Scope:
        """Whose conversation it is that another program wrote."""
        return Scope(tenant=self.tenant, user=LOCAL.user)

    def now(self) -> datetime:
        return self.clock()

    def report(self, path: Path, detail: str) -> None:
        self.problems.report(path, detail, self.clock())
