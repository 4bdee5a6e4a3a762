"""Observers are told what turns do, for metrics and logs. They change nothing: an observer neither waits nor raises."""

from collections.abc import Sequence

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.store.values import Appendable


class Observer:
    """Does nothing; a subclass overrides the methods that it needs. Times are in seconds."""

    def spoke(self, lease: Lease, seconds: float) -> None:
        """The model gave the first text of a turn, so long after the turn began to run here."""

    def stored(self, lease: Lease, bodies: Sequence[Appendable], seconds: float) -> None:
        """Entries of a turn were committed, which took so long."""

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        """A turn ended or waits for a person, so long after it began to run here; `entries` are all that it wrote."""

    def left(self, lease: Lease, code: str) -> None:
        """A turn was left for recovery because of an error with this code."""
