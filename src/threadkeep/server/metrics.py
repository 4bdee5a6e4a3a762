"""Numbers in the text format of Prometheus: counters, gauges and histograms, and how they are written.

What is counted is not decided here but in `measures`. One event loop uses them, so nothing is locked.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the buckets of times."""


class Metric(Protocol):
    """Something that is counted or measured."""

    name: str
    about: str
    kind: str

    def lines(self) -> Iterator[str]:
        """Yield a line for each number."""


class Counter:
    """A number for each set of labels that only rises."""

    kind = "counter"

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.about = about
        self._labels = tuple(labels)
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *values: str, by: float = 1) -> None:
        """Count for the labels with these values."""
        self._values[values] = self._values.get(values, 0.0) + by

    def lines(self) -> Iterator[str]:
        """Yield a line for each set of labels."""
        for values, number in self._values.items():
            yield _line(self.name, zip(self._labels, values, strict=True), number)


class Gauge:
    """A number that is asked for when somebody looks; with a label, a number for each value of it."""

    kind = "gauge"

    def __init__(self, name: str, about: str, ask: Callable[[], float | Mapping[str, float]], label: str = "") -> None:
        self.name = name
        self.about = about
        self._ask = ask
        self._label = label

    def lines(self) -> Iterator[str]:
        """Yield the numbers."""
        answer = self._ask()
        if isinstance(answer, Mapping):
            for value, number in answer.items():
                yield _line(self.name, [(self._label, value)], number)
        else:
            yield _line(self.name, (), answer)


class Histogram:
    """How often a time fell below each bound, for each set of labels."""

    kind = "histogram"

    def __init__(self, name: str, about: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS) -> None:
        self.name = name
        self.about = about
        self._labels = tuple(labels)
        self._bounds = tuple(bounds)
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Count one time for the labels with these values."""
        counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def lines(self) -> Iterator[str]:
        """Yield the buckets, the sum and the number for each set of labels."""
        for values, counts in self._counts.items():
            labels, below = list(zip(self._labels, values, strict=True)), 0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), counts, strict=True):
                below += count
                yield _line(f"{self.name}_bucket", (*labels, ("le", bound)), below)
            yield _line(f"{self.name}_sum", labels, self._sums[values])
            yield _line(f"{self.name}_count", labels, below)


def render(metrics: Iterable[Metric]) -> str:
    """Return all numbers as Prometheus reads them."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
    return "\n".join(lines) + "\n"


def _line(name: str, labels: Iterable[tuple[str, str]], number: float) -> str:
    inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels)
    return f"{name}{{{inside}}} {_number(number)}" if inside else f"{name} {_number(number)}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
