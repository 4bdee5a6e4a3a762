"""On whose behalf something is done. Set where a request or a command comes in, and read by the audit log.

It is a context variable, so a turn keeps the caller of the request that began it.
"""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor (`user:ID`, `operator` at the command line, `system` for background work), its address and request, and
    the service (`user:ID`) that acts for this user, if one does."""

    actor: str = "system"
    address: str = ""
    request: str = ""
    via: str | None = None


SYSTEM = Caller()
CALLER: ContextVar[Caller] = ContextVar("caller", default=SYSTEM)
