"""What more instances bring on one PostgreSQL, beside bare INSERTs from as many processes in the same run.

    python -m bench.scale [--quick]

An instance is a process with its own pool that appends turns in 32 conversations at a time; a bare writer does so with
a connection for each. Then: how long until a reader on another instance is told of a commit, and what a spool costs.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.bare import BarePostgres
from bench.report import Report
from bench.stopwatch import Act, race
from bench.store import CONVERSATIONS, conversations, database, saver
from bench.texts import turns
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.hosting import SpoolSettings
from threadkeep.runtime import open_conversations, open_store
from threadkeep_postgres.spool.opening import open_spooling_store

INSTANCES = (1, 2, 3)
ROUNDS = 3


async def write(kind: str, url: str, count: int) -> None:
    """What a child does: get ready, wait for a line, act in all conversations, say how it went."""
    if kind == "bare":
        bares, source = [await BarePostgres.open(url) for _ in range(CONVERSATIONS)], turns(3)
        acts: list[Act] = [lambda bare=bare: bare.insert(*next(source)) for bare in bares]  # type: ignore[misc]
    else:
        store = await open_store(url)
        acts = [saver(store, name) for name in await conversations(store, CONVERSATIONS)]
    for act in acts:
        await act()
    print("ready", flush=True)
    sys.stdin.readline()
    waits: list[float] = []

    async def repeat(act: Act) -> None:
        for _ in range(count // CONVERSATIONS):
            started = time.perf_counter()
            await act()
            waits.append(time.perf_counter() - started)

    began = time.time()
    await asyncio.gather(*map(repeat, acts))
    print(json.dumps({"began": began, "ended": time.time(), "waits": waits}), flush=True)


async def together(kind: str, url: str, instances: int, count: int) -> tuple[float, list[float]]:
    """Let several children act at the same time; return turns a second, and how long each turn took."""
    command = [sys.executable, "-m", "bench.scale", "--child", kind, "--url", url, "--count", str(count)]
    limit = 64 * 1024 * 1024
    children = [
        await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=limit) for _ in range(instances)
    ]
    for child in children:
        await _line(child)
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
    told: list[dict[str, Any]] = [json.loads(await _line(child)) for child in children]
    for child in children:
        await child.communicate()
    waits = sorted(wait for one in told for wait in one["waits"])
    return len(waits) / (max(one["ended"] for one in told) - min(one["began"] for one in told)), waits


async def _line(child: Process) -> bytes:
    assert child.stdout is not None
    return await child.stdout.readline()


async def measure_instances(report: Report, url: str, count: int) -> None:
    rows = []
    for instances in INSTANCES:
        best: dict[str, tuple[float, list[float]]] = {}
        for _ in range(ROUNDS):
            for kind in ("bare", "threadkeep"):
                best[kind] = max(best.get(kind, (0.0, [])), await together(kind, url, instances, count))
        for kind, (rate, waits) in best.items():
            middle, slow = (waits[len(waits) * share // 100] * 1000 for share in (50, 99))
            shown = [f"{rate:.0f}", f"{rate / best['bare'][0]:.2f}", f"{middle:.1f}", f"{slow:.1f}"]
            rows.append([str(instances), kind, *shown])
        share = best["threadkeep"][0] / best["bare"][0]
        report.bar(f"turns a second of {instances} instance(s) / bare", share, at_least=0.7)
    columns = ["instances", "", "turns/s", "x bare", "commit p50, ms", "p99"]
    report.table("Turns a second, 32 conversations at a time in each instance", columns, rows)


async def measure_readers(report: Report, url: str, count: int) -> None:
    """From the call that commits to the event at a reader, on the same instance and on another one."""
    async with await open_conversations(url, model="demo") as one, await open_conversations(url, model="demo") as two:
        writing = await one.create()
        here, there = await _told(writing, writing, count), await _told(writing, await two.get(writing.id), count)
    commits = []
    store = await open_store(url)
    save = saver(store, (await conversations(store, 1))[0])
    for _ in range(count):
        started = time.perf_counter()
        await save()
        commits.append(time.perf_counter() - started)
    await store.close()
    same, other, commit = (sorted(times)[len(times) * 99 // 100] * 1000 for times in (here, there, commits))
    report.note(f"99th percentile: same instance {same:.1f} ms, another {other:.1f} ms, one commit {commit:.1f} ms")
    report.bar("reader elsewhere / (2 x same instance + one commit)", other / (2 * same + commit), at_most=1)


async def measure_spool(report: Report, url: str, rounds: int) -> None:
    """What the store around the database costs while nothing is wrong: a commit, a restore, 32 commits at a time."""
    with tempfile.TemporaryDirectory() as folder:
        plain = await open_store(url)
        spooling = await open_spooling_store(url, SpoolSettings(folder=Path(folder)))
        rivals: dict[str, Act] = {}
        for kind, store in (("without", plain), ("with", spooling)):
            names = await conversations(store, CONVERSATIONS)
            saves = [saver(store, name) for name in names]
            rivals[f"a turn {kind}"] = saves[0]
            rivals[f"the newest 20 {kind}"] = partial(store.newest, LOCAL, names[0], limit=20)
            rivals[f"32 turns at a time {kind}"] = partial(_all, saves)
        took = await race(rivals, rounds=rounds, acts=10)
        for what in ("a turn", "the newest 20", "32 turns at a time"):
            share = took[f"{what} with"].median / took[f"{what} without"].median
            report.bar(f"{what}, with a spool / without", share, at_most=1.05)
        await plain.close()
        await spooling.close()


async def _all(acts: Sequence[Act]) -> None:
    await asyncio.gather(*(act() for act in acts))


async def _told(writing: ConversationHandle, reading: ConversationHandle, count: int) -> list[float]:
    """Append messages one by one; return how long each took to be told of."""
    events = reading.follow(await reading.cursor(None))
    times, arriving = [], asyncio.ensure_future(anext(events))
    await asyncio.sleep(0.2)
    for number in range(count):
        started = time.perf_counter()
        await writing.append(Message(role=Role.USER, content=f"Message {number}"))
        await arriving
        times.append(time.perf_counter() - started)
        arriving = asyncio.ensure_future(anext(events))
    arriving.cancel()
    return times


async def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="bench.scale", description="Several instances on one PostgreSQL.")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--child", choices=("bare", "threadkeep"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        await write(options.child, options.url, options.count)
        return
    report = Report(sys.stdout)
    report.title("Instances on one PostgreSQL")
    async with database() as urls:
        await measure_instances(report, urls.server, 960 if options.quick else 4800)
        await measure_readers(report, urls.server, 100 if options.quick else 500)
        await measure_spool(report, urls.server, 10 if options.quick else 40)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
