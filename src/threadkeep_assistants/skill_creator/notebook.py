"""The conversation's state in the course of one exchange: looked up, changed, and at the end only what has changed."""

from collections.abc import Mapping
from typing import Any

from threadkeep.machine.machine import KEY
from threadkeep.turn.mind import Changed

MOST_REMEMBERED = 200
"""How many of the questions that were asked are remembered."""


class Notebook:
    """What is known, with what this exchange adds to it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._before = dict(values)
        self.values = dict(values)

    def get(self, key: str, otherwise: Any = None) -> Any:
        """Return what is noted under a key."""
        return self.values.get(key, otherwise)

    def note(self, **new: Any) -> None:
        """Note values by their keys."""
        self.values |= new

    def drop(self, *keys: str) -> None:
        """Note nothing under these keys any more."""
        for key in keys:
            self.values.pop(key, None)

    def remember(self, question: str) -> None:
        """Note that a question was asked."""
        self.values["questions_asked"] = [*self.get("questions_asked", []), question][-MOST_REMEMBERED:]

    def times_asked(self, question: str) -> int:
        """Return how often a question was asked."""
        return int(self.get("questions_asked", []).count(question))

    def move(self, state: str) -> None:
        """Go to another state; whether that is legal is seen when it is stored."""
        self.values[KEY] = state

    def changed(self, *, now: bool = False) -> Changed:
        """Return what is different from before. With `now` it is taken for stored, and this begins anew."""
        before, after = self._before, self.values
        new = {key: value for key, value in after.items() if key not in before or before[key] != value}
        gone = tuple(key for key in before if key not in after)
        if now:
            self._before = dict(after)
        return Changed(set=new, unset=gone, now=now)
