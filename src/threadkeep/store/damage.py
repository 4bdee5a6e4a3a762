"""A store that refuses everything as damaged is not ready; one damaged conversation is the problem of that one."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from threadkeep.conversation.clock import Clock
from threadkeep.errors import StoreCorrupt

ENOUGH = 3
"""How many conversations must be refused, and none written meanwhile."""
TOLD_FOR = timedelta(minutes=1)
"""How long that is reported without another refusal: a store that is sent nothing could never prove it wrong."""


class Damage:
    """The conversations that were refused since the last successful write."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refused: dict[str, datetime] = {}

    @contextmanager
    def noted(self, conversation: str | None) -> Iterator[None]:
        """Note how a write ends; a conversation that is being created may have no id yet."""
        try:
            yield
        except StoreCorrupt:
            name = conversation or f"new {len(self._refused)}"
            self._refused.pop(name, None)
            self._refused[name] = self._clock()
            self._refused = dict(list(self._refused.items())[-ENOUGH:])
            raise
        else:
            if self._refused:
                self._refused.clear()

    def check(self) -> None:
        """Raise `StoreCorrupt` if nothing can be written."""
        oldest = self._clock() - TOLD_FOR
        if sum(at > oldest for at in self._refused.values()) >= ENOUGH:
            raise StoreCorrupt("Whatever is written is refused, because stored data is damaged.")
