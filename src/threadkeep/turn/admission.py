"""Who may begin a turn in this process: a user and a tenant have a limited number at a time, none once it is closed.

Turns that were accepted before, or are taken up from a dead owner, are counted but never refused.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from threadkeep.conversation.scope import Scope
from threadkeep.errors import Stopping, TooManyTurns

Key = tuple[str, str, str]
"""Tenant, user, conversation; an empty user or conversation stands for all of them."""


class Admission:
    """Counts conversations in which a turn runs or is being accepted. A limit of 0 is none."""

    def __init__(self, *, user_turns: int = 0, tenant_turns: int = 0) -> None:
        self._user_turns = user_turns
        self._tenant_turns = tenant_turns
        self._places: Counter[Key] = Counter()
        self.running = 0
        self.is_closed = False

    def close(self) -> None:
        """Admit nobody any more."""
        self.is_closed = True

    @contextmanager
    def admitted(self, scope: Scope, conversation: str) -> Iterator[None]:
        """Keep a place while a message is accepted; raise `Stopping` or `TooManyTurns` where there is none.

        In a conversation that has a turn here already there is always room: the message waits behind that turn.
        """
        self._check(scope, conversation)
        leave = self.enter(scope, conversation)
        try:
            yield
        finally:
            leave()

    def _check(self, scope: Scope, conversation: str) -> None:
        if self.is_closed:
            raise Stopping
        tenant, user, here = _keys(scope, conversation)
        if self._places[here]:
            return
        if 0 < self._user_turns <= self._places[user]:
            raise TooManyTurns(f"At most {self._user_turns} turns of one user run at a time.")
        if 0 < self._tenant_turns <= self._places[tenant]:
            raise TooManyTurns(f"At most {self._tenant_turns} turns of one tenant run at a time.")

    def enter(self, scope: Scope, conversation: str) -> Callable[[], None]:
        """Take a place for a turn that runs here, and return the function that gives it back."""
        keys = _keys(scope, conversation)
        self._places.update(keys)
        self.running += 1

        def leave() -> None:
            self.running -= 1
            for key in keys:
                self._places[key] -= 1
                if not self._places[key]:
                    del self._places[key]

        return leave


def _keys(scope: Scope, conversation: str) -> tuple[Key, Key, Key]:
    return (scope.tenant, "", ""), (scope.tenant, scope.user, ""), (scope.tenant, "", conversation)
