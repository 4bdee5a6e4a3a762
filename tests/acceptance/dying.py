"""A server that kills itself at one step of draining its spool: `python -m tests.acceptance.dying 7 serve ...`. A step
is before or after each question to the database, and before or after a conversation leaves the spool."""

import os
import signal
import sys
from contextvars import ContextVar
from functools import wraps
from typing import Any

from threadkeep.cli.main import main
from threadkeep_postgres.audit import PostgresAudit
from threadkeep_postgres.spool.draining import Drains
from threadkeep_postgres.spool.spool_file import SpoolFile
from threadkeep_postgres.store import PostgresStore

STEPS = (
    (PostgresAudit, "read"),
    *((PostgresStore, name) for name in ("get", "create", "log", "turns", "made_by", "adopt")),
    (SpoolFile, "remove"),
)
DRAINS: ContextVar[bool] = ContextVar("drains", default=False)


class Death:
    """Counts steps, and comes at the one that was named."""

    def __init__(self, at: int) -> None:
        self._left = at

    def step(self) -> None:
        self._left -= DRAINS.get()
        if self._left == 0 and DRAINS.get():
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, kind: type, name: str) -> None:
        verb = getattr(kind, name)

        @wraps(verb)
        async def watched(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = await verb(*args, **kwargs)
            self.step()
            return answer

        setattr(kind, name, watched)


def _note_drains() -> None:
    drain = Drains.drain

    @wraps(drain)
    async def noted(*args: Any, **kwargs: Any) -> bool:
        token = DRAINS.set(True)
        try:
            return await drain(*args, **kwargs)
        finally:
            DRAINS.reset(token)

    Drains.drain = noted  # type: ignore[method-assign]


if __name__ == "__main__":
    death = Death(int(sys.argv[1]))
    for kind, name in STEPS:
        death.watch(kind, name)
    _note_drains()
    raise SystemExit(main(sys.argv[2:]))
