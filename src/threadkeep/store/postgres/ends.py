"""Where this store left the ends of logs. Others may have gone on since: whoever relies on an end finds that out."""

from typing import NamedTuple

from threadkeep.store.postgres.rows import Place

REMEMBERED = 10_000


class End(NamedTuple):
    """The end of a conversation's log: its key, the last entry, the head, the newest entry of a branch, all bytes."""

    conversation: int
    last: int
    head: int
    newest: int
    total: int


class Ends:
    """The ends of logs that were written last."""

    def __init__(self) -> None:
        self._ends: dict[Place, End] = {}

    def get(self, where: Place) -> End | None:
        """Return where a log of this owner was left."""
        return self._ends.get(where)

    def set(self, where: Place, end: End) -> None:
        """Remember where a log was left."""
        if len(self._ends) >= REMEMBERED:
            self._ends.clear()
        self._ends[where] = end

    def forget(self, where: Place) -> None:
        """Forget what has changed."""
        self._ends.pop(where, None)
