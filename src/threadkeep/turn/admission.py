"""Who may begin a turn: a user and a tenant have a limited number at a time, none once this process is closed, and
none beyond their budgets.

Turns that were accepted before, or are taken up from a dead owner, are counted but never refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from threadkeep.conversation.scope import Scope
from threadkeep.errors import Stopping, TooManyTurns
from threadkeep.tally import Name, Tally


class Budgets(ABC):
    """What users and tenants may use of models."""

    @abstractmethod
    async def check(self, scope: Scope) -> None:
        """Raise `LimitReached` if a user or the tenant has used up what there was."""


class Admission:
    """Counts conversations in which a turn runs or is being accepted, in a tally. A limit of 0 is none."""

    def __init__(self, *, user_turns: int = 0, tenant_turns: int = 0, tally: Tally | None = None) -> None:
        self._user_turns = user_turns
        self._tenant_turns = tenant_turns
        self._tally = tally or Tally()
        self.running = 0
        self.is_closed = False

    def close(self) -> None:
        """Admit nobody any more."""
        self.is_closed = True

    @contextmanager
    def admitted(self, scope: Scope, conversation: str) -> Iterator[None]:
        """Keep a place while a message is accepted; raise `Stopping` or `TooManyTurns` where there is none.

        In a conversation that has a turn already there is always room: the message waits behind that turn.
        """
        if self.is_closed:
            raise Stopping
        tenant, user, here = _names(scope, conversation)
        limits = {user: self._user_turns, tenant: self._tenant_turns, here: 0}
        full = self._tally.enter(limits, behind=here)
        if full is not None:
            whose = "user" if full == user else "tenant"
            raise TooManyTurns(f"At most {limits[full]} turns of one {whose} run at a time.")
        self.running += 1
        try:
            yield
        finally:
            self._leave(limits)

    def enter(self, scope: Scope, conversation: str) -> Callable[[], None]:
        """Take a place for a turn that runs here, and return the function that gives it back."""
        names = _names(scope, conversation)
        self._tally.enter(dict.fromkeys(names, 0))
        self.running += 1
        return lambda: self._leave(names)

    def _leave(self, names: Collection[Name]) -> None:
        self.running -= 1
        self._tally.leave(names)


def _names(scope: Scope, conversation: str) -> tuple[Name, Name, Name]:
    tenant = ("turns", scope.tenant)
    return tenant, (*tenant, scope.user), (*tenant, scope.user, conversation)
