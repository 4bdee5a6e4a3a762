"""Lists of a graph's state, each version of which is written as what differs from the version before.

A list that only grew shares its elements with the version before it, so that a thousand versions take the room of one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep_integrations.langgraph.forms import Form, FormError, Item, form_of

Span = list[int]
"""Where a stretch of the older version begins and ends."""
Step = Span | Form | None
"""What comes next in a version: a stretch of the older one, a form, or the next message of the log (none)."""


class ListVersion:
    """One version of a list: steps over an older version (none: an empty list)."""

    __slots__ = ("_base", "_length", "_shared", "_steps")

    def __init__(self, base: "ListVersion | None", steps: Sequence[Step | Item]) -> None:
        self._shared: list[Item] | None = None
        self._base, self._steps, self._length = base, steps, _length(base, steps)
        shared = [] if base is None else base._shared
        kept = 0 if base is None else base._length
        only_grew = (not kept or steps[:1] == [[0, kept]]) and not any(isinstance(step, list) for step in steps[1:])
        if only_grew and shared is not None and len(shared) == kept:
            new = steps[1:] if kept else steps
            shared.extend(step for step in new if isinstance(step, Item))
            self._shared, self._base, self._steps = shared, None, ()

    def __len__(self) -> int:
        return self._length

    def items(self) -> Sequence[Item]:
        """Return the elements."""
        if self._shared is None:
            above: list[ListVersion] = []
            below: ListVersion | None = self
            while below is not None and below._shared is None:
                above.append(below)
                below = below._base
            found = [] if below is None else below.items()
            for version in reversed(above):
                found = [*_over(found, version._steps)]
            self._shared, self._base, self._steps = [*found], None, ()
        return self._shared[: self._length]


def _length(base: ListVersion | None, steps: Sequence[Step | Item]) -> int:
    """Return how long a version is; stretches follow each other, so that no version is larger than what was written."""
    length, done = 0, 0
    for step in steps:
        if isinstance(step, list):
            begin, end = step
            if not (type(begin) is type(end) is int and done <= begin <= end <= (0 if base is None else len(base))):
                raise FormError("not a stretch of the older version")
            length, done = length + end - begin, end
        else:
            length += 1
    return length


def _over(items: Sequence[Item], steps: Iterable[Step | Item]) -> Iterator[Item]:
    for step in steps:
        if isinstance(step, list):
            yield from items[step[0] : step[1]]
        elif isinstance(step, Item):
            yield step


class New(NamedTuple):
    """An element that the older version does not have."""

    value: Any


Difference = Sequence[Span | New]
"""How a version comes from the older one."""


def difference(values: Sequence[Any], items: Sequence[Item], serde: SerializerProtocol) -> Difference:
    """Return how values differ from the elements of an older version, by what they are."""
    places: dict[str, list[int]] = {}
    for place in range(len(items) - 1, -1, -1):
        places.setdefault(_text(items[place].form), []).append(place)

    def place_of(value: Any, done: int) -> int | None:
        left = places.get(_text(form_of(value, serde)), [])
        while left and left[-1] < done:
            left.pop()
        return left.pop() if left else None

    return _steps(values, place_of)


class Handed:
    """The very objects that a graph got, or gave, as one version of a list: what is still the same object needs not be
    looked into, unless a node has returned it again."""

    def __init__(self, version: Any, values: Sequence[Any]) -> None:
        self.version = version
        self._values = [*values]

    def difference(
        self, values: Sequence[Any], returned: set[int], items: Sequence[Item], serde: SerializerProtocol
    ) -> Difference:
        """Return how values differ from this version, which has these elements; `returned` are the identities of what
        nodes returned since."""
        before = self._values
        if len(values) >= len(before) and all(map(is_, values, before)) and returned.isdisjoint(map(id, before)):
            return [*([[0, len(before)]] if before else []), *map(New, values[len(before) :])]
        places = {id(value): place for place, value in enumerate(before)}

        def place_of(value: Any, done: int) -> int | None:
            place = places.get(id(value))
            if place is None or place < done:
                return None
            is_same = id(value) not in returned or _text(items[place].form) == _text(form_of(value, serde))
            return place if is_same else None

        return _steps(values, place_of)


def _steps(values: Sequence[Any], place_of: Callable[[Any, int], int | None]) -> Difference:
    steps: list[Span | New] = []
    done = 0
    for value in values:
        place = place_of(value, done)
        last = steps[-1] if steps else None
        if place is None:
            steps.append(New(value))
            continue
        if isinstance(last, list) and last[1] == place:
            last[1] = place + 1
        else:
            steps.append([place, place + 1])
        done = place + 1
    return steps


def _text(form: Form) -> str:
    return json.dumps(form)
