"""A state machine as a value: states, the transitions between them, guards and what happens on entering a state.

It holds no state itself. The state of a conversation is in its log, under the key `state`, so it survives a restart and
follows branches. The engine asks the machine before it stores a change.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from threadkeep.errors import IllegalTransition, InvalidValue

KEY = "state"
"""The key of the conversation's state that names where the machine is."""

Values = Mapping[str, Any]
Guard = Callable[[Values], str | None]
"""Returns why a transition is not allowed with these values, None if it is."""
Action = Callable[[Values], Mapping[str, Any]]
"""Returns values to set on entering a state. It must be pure: what has effects outside is a tool."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A way from one state to another, allowed unless its guard objects."""

    source: str
    target: str
    guard: Guard | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """States in the order in which they are usually passed, the first being where a conversation begins.

    A conversation that reaches one of the `final` states is completed. `instructions` are what a model is told in each
    state, together with the question.
    """

    states: tuple[str, ...]
    transitions: tuple[Transition, ...]
    final: frozenset[str] = frozenset()
    entering: Mapping[str, Action] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = [name for way in self.transitions for name in (way.source, way.target)]
        unknown = {*named, *self.final, *self.entering, *self.instructions} - set(self.states)
        if not self.states or unknown:
            raise InvalidValue(f"The machine uses states that it does not declare: {', '.join(sorted(unknown))}.")

    def current(self, values: Values) -> str:
        """Return the state that these values are in."""
        return str(values.get(KEY) or self.states[0])

    def is_over(self, values: Values) -> bool:
        """Whether nothing is left to do."""
        return self.current(values) in self.final

    def allowed(self, values: Values) -> tuple[str, ...]:
        """Return the states that can be reached from here, guards considered, in the order of the states."""
        here = self.current(values)
        reached = {way.target for way in self.transitions if way.source == here and _objection(way, values) is None}
        return tuple(state for state in self.states if state in reached)

    def move(self, values: Values, new: Values, unset: Iterable[str] = ()) -> dict[str, Any]:
        """Return what to store if `new` is set on top of `values`, including what is set on entering another state.

        Guards and actions see the values as they will be, without the `unset` ones; the state itself cannot be unset.
        Raises IllegalTransition if `new` names a state that cannot be reached from here.
        """
        gone = set(unset) - {KEY}
        here, after = self.current(values), {**{key: values[key] for key in values if key not in gone}, **new}
        there = self.current(after)
        if there == here:
            return {KEY: here, **new}
        self._check(here, there, after)
        entering = self.entering.get(there)
        return {**new, **(entering(after) if entering else {}), KEY: there}

    def _check(self, here: str, there: str, after: Values) -> None:
        ways = [way for way in self.transitions if (way.source, way.target) == (here, there)]
        objections = [_objection(way, after) for way in ways]
        if not ways:
            known = ", ".join(dict.fromkeys(way.target for way in self.transitions if way.source == here)) or "nowhere"
            raise IllegalTransition(f"There is no way from {here} to {there}; from here it goes to: {known}.")
        if None not in objections:
            raise IllegalTransition(f"It cannot go from {here} to {there} yet: {objections[0]}")


def _objection(way: Transition, values: Values) -> str | None:
    return way.guard(values) if way.guard else None
