"""On whose behalf something is done. Set where a request or a command comes in, and read by the audit log.

It is carried by the context of the task, so that the turn which a request begins goes on in its name.
"""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who (`user:ID`, `operator` at the command line, `system` by itself), from which address, with which request."""

    actor: str = "system"
    address: str = ""
    request: str = ""


SYSTEM = Caller()
CALLER: ContextVar[Caller] = ContextVar("caller", default=SYSTEM)
