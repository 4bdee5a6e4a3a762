"""What more workers of a server bring, on one SQLite file and on PostgreSQL.

    python -m bench.workers [--quick]

Of many people, who ask once each, 32 do so at a time, and a provider in another process streams as fast as it can. Both
share the cores with the server, so what counts is the processor time of the busiest worker: with a core for each, that
many turns a second pass. What waiting for the file costs is seen in the turns a second that did pass.
"""

import argparse
import asyncio
import re
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.provider import RIVALS, ask, cpu_seconds, free_port, requests, running, server
from bench.report import Report

WIDTH, TOKENS = 32, 200
WORKERS = (1, 2)


class Measured(NamedTuple):
    """Turns a second, seconds of processor time of each worker for a turn of all, and their memory in MiB."""

    rate: float
    each: list[float]
    memory: float


def workers_of(pid: int) -> list[int]:
    """Return the processes that serve."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [pid]


def memory_of(pid: int) -> float:
    """Return what a process has of the memory, of what it shares its part."""
    found = re.search(r"Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def measure(kind: str, workers: int, times: int) -> Measured:
    """Ask so many times in each conversation."""
    with ExitStack() as stack:
        folder, provider = stack.enter_context(TemporaryDirectory()), free_port()
        played = [sys.executable, str(RIVALS), "provider", str(provider), str(TOKENS), "0"]
        stack.enter_context(running(played, provider))
        flags = ("--workers", str(workers))
        pid, port = stack.enter_context(server(kind, provider, folder, *flags))
        while len(workers_of(pid)) < workers:  # noqa: ASYNC110 - a process that starts is no event
            await asyncio.sleep(0.1)
        idle = sum(map(memory_of, {pid, *workers_of(pid)}))
        for_all = times * WIDTH
        questions = iter(await requests(kind, port, WIDTH + for_all))
        await asyncio.gather(*(ask(port, *next(questions), TOKENS) for _ in range(WIDTH)))
        before = [cpu_seconds(each) for each in workers_of(pid)]
        began = time.perf_counter()

        async def talk() -> None:
            for question in questions:
                await ask(port, *question, TOKENS)

        await asyncio.gather(*(talk() for _ in range(WIDTH)))
        took = time.perf_counter() - began
        spent = [cpu_seconds(each) - was for each, was in zip(workers_of(pid), before, strict=True)]
    return Measured(for_all / took, [seconds / for_all for seconds in spent], idle)


async def main() -> None:
    """Measure by command."""
    parser = argparse.ArgumentParser(prog="bench.workers", description="More workers of one server.")
    parser.add_argument("--quick", action="store_true", help="a few turns in each conversation")
    times = 10 if parser.parse_args().quick else 20
    report = Report(sys.stdout)
    for kind, place in (("threadkeep", "one SQLite file"), ("postgres", "PostgreSQL")):
        report.title(f"Workers on {place}: {WIDTH} turns at a time, answers of {TOKENS} tokens")
        found = [await measure(kind, workers, times) for workers in WORKERS]
        rows = [
            [
                *(str(len(one.each)), f"{one.rate:.0f}", f"{sum(one.each) * 1000:.1f}"),
                *(f"{max(one.each) / sum(one.each):.0%}", f"{1 / max(one.each):.0f}", f"{one.memory:.0f}"),
            ]
            for one in found
        ]
        columns = ["workers", "turns/s here", "processor ms a turn", "of the busiest", "turns/s by that", "MiB idle"]
        report.table("What passes", columns, rows)
        gained = max(found[0].each) / max(found[1].each)
        report.bar(f"turns a second of two workers / one, {place}", gained, at_least=1.7)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
