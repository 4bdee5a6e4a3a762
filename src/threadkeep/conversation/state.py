"""The state of a conversation (what a guided conversation has gathered), derived from the changes on a branch.

A change holds only the keys that changed. Every `WHOLE_EVERY`th change holds everything, so that the state at any
entry is found by reading a bounded number of changes, however long the conversation is.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from threadkeep.conversation.value import JsonObject, Text, Value

WHOLE_EVERY = 32


class StateChange(Value):
    """Keys with new values and keys that are removed. A `whole` one replaces everything before it; `depth` counts the
    changes since the last whole one."""

    kind: Literal["state"] = "state"
    set: JsonObject = Field(default_factory=dict)
    unset: tuple[Text, ...] = ()
    whole: bool = False
    depth: int = Field(default=0, ge=0)


class State(Value):
    """All values at one place of a branch, and the `depth` of its last change."""

    values: JsonObject = Field(default_factory=dict)
    depth: int = 0

    def change(self, new: Mapping[str, Any] | None = None, unset: Iterable[str] = ()) -> StateChange:
        """Return the entry that records these new values and removed keys."""
        new, gone = dict(new or {}), tuple(unset)
        if self.depth + 1 < WHOLE_EVERY:
            return StateChange(set=new, unset=gone, depth=self.depth + 1)
        return StateChange(set=_changed(self.values, new, gone), whole=True)

    def after(self, change: StateChange) -> "State":
        """Return the state after a change."""
        before = {} if change.whole else self.values
        return State(values=_changed(before, change.set, change.unset), depth=change.depth)


def fold(newest_first: Iterable[StateChange]) -> State:
    """Return the state that these changes of one branch, read from the newest back to a whole one, add up to."""
    changes: list[StateChange] = []
    for change in newest_first:
        changes.append(change)
        if change.whole:
            break
    values: dict[str, Any] = {}
    for change in reversed(changes):
        values = _changed(values, change.set, change.unset)
    return State(values=values, depth=changes[0].depth if changes else 0)


def _changed(values: Mapping[str, Any], new: Mapping[str, Any], unset: Container[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in unset} | dict(new)
