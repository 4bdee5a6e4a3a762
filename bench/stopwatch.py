"""Timing things side by side: rivals take turns in short rounds, so that the noise of the machine hits all of them."""

import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import mean, median
from typing import NamedTuple

Act = Callable[[], Awaitable[object]]


class Timing(NamedTuple):
    """What one act took, in microseconds."""

    median: float
    mean: float


async def race(rivals: Mapping[str, Act], *, rounds: int, acts: int = 20) -> dict[str, Timing]:
    """Let each rival act some times in every round, and return what an act of each took."""
    taken: dict[str, list[float]] = {name: [] for name in rivals}
    for turn in range(rounds + 1):
        for name, act in rivals.items():
            for _ in range(acts):
                started = time.perf_counter()
                await act()
                if turn:  # the first round warms up
                    taken[name].append(time.perf_counter() - started)
    return {name: Timing(median(times) * 1e6, mean(times) * 1e6) for name, times in taken.items()}


async def rate(work: Awaitable[object], count: int) -> float:
    """Return how many of `count` acts that the work does are done in a second."""
    started = time.perf_counter()
    await work
    return count / (time.perf_counter() - started)
