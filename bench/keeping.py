"""What export and import cost, beside reading and inserting the bare rows of the same messages in the same run, and how
long turns take while retention goes through a store. What a search costs is measured too: see `bench.searching`.

    python -m bench.keeping            100,000 messages, and as many conversations
    python -m bench.keeping --quick    10,000

The bare export reads rows and writes each as a line of JSON; the bare import parses lines and inserts rows, as many
in a commit as we have. Memory is the peak of what Python holds while a file of 1,000 messages, and then one of
all of them, is imported and exported again. Retention looks at conversations of which one in ten is to be marked and
one in ten to be deleted, while four people talk.
"""

import argparse
import asyncio
import json
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import apsw

from bench.report import Report
from bench.searching import measure_searches
from bench.stopwatch import Act
from bench.texts import turns
from bench.turn import ASSISTANT, InstantModel, first_and_last
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversations import Conversations
from threadkeep.runtime import open_conversations, open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import STEP_ENTRIES, Importer
from threadkeep.transfer.moving import export_lines
from threadkeep.transfer.sources import read_file
from threadkeep.turn.assistant import Assistant

ALL = Selection(LOCAL.tenant, LOCAL.user)
IN_ONE = 1000
LONG_MESSAGES, LONG = 80, 100_000
TURN_COLUMNS = ["turns", "measured", "p50, ms", "p99, ms"]
_TABLE = "CREATE TABLE message (id INTEGER PRIMARY KEY, conversation TEXT, role TEXT, at TEXT, content TEXT)"
_INDEX = """
CREATE VIRTUAL TABLE word USING fts5 (content);
CREATE TRIGGER indexed AFTER INSERT ON message
BEGIN INSERT INTO word (rowid, content) VALUES (new.id, new.content); END
"""
_INSERT = "INSERT INTO message (conversation, role, at, content) VALUES (?, ?, ?, ?)"


async def fill(store: Store, messages: int) -> None:
    """Store conversations of a thousand messages each."""
    source = turns()
    for number in range(messages // IN_ONE):
        await store.create(LOCAL, NewConversation(id=f"c{number}"))
        for _ in range(IN_ONE // 100):
            bodies = tuple(message for turn in islice(source, 50) for message in turn)
            await store.append(LOCAL, f"c{number}", Append(bodies=bodies))


async def export(store: Store, path: Path) -> None:
    """Write everything to a file."""
    with path.open("wb") as file:
        async for line in export_lines(store, ALL, lambda done: None):
            file.write(line.encode())


async def take_in(store: Store, path: Path) -> None:
    """Import a file."""
    importer = Importer(store, LOCAL)
    with path.open("rb") as file:
        async with aclosing(read_file(file, path.name)) as items:
            async for item in items:
                await importer.add(item)
    assert not importer.report.problems, importer.report.problems[:3]


def bare_import(path: Path, target: Path, *, index: bool = False) -> None:
    """Insert the messages of a file as bare rows, as durable as our own; with a full-text index, if asked for."""
    db = apsw.Connection(str(target))
    db.execute(f"PRAGMA journal_mode = wal; PRAGMA synchronous = full; {_TABLE}").fetchall()
    if index:
        db.execute(_INDEX)
    rows: list[tuple[str, ...]] = []
    with path.open("rb") as file:
        for line in file:
            entry = json.loads(line).get("entry")
            if entry is not None:
                rows.append(("c", entry["body"]["role"], entry["created_at"], entry["body"]["content"]))
            if len(rows) == STEP_ENTRIES:
                _commit(db, rows)
                rows = []
    _commit(db, rows)
    db.close()


def _commit(db: apsw.Connection, rows: list[tuple[str, ...]]) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.executemany(_INSERT, rows)
    db.execute("COMMIT")


def bare_export(source: Path, path: Path) -> None:
    """Write bare rows as lines of JSON."""
    db = apsw.Connection(str(source))
    with path.open("wb") as file:
        for id, conversation, role, at, content in db.execute("SELECT * FROM message ORDER BY id"):
            row = {"id": id, "conversation": conversation, "role": role, "at": at, "content": content}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    db.close()


async def peak(folder: Path, messages: int) -> float:
    """Return how many megabytes Python holds at most while so many messages are imported and exported."""
    source, target = folder / f"{messages}.db", folder / f"{messages}-again.db"
    store = await open_store(f"sqlite:///{source}")
    await fill(store, messages)
    await export(store, folder / "lines")
    await store.close()
    store = await open_store(f"sqlite:///{target}")
    tracemalloc.start()
    await take_in(store, folder / "lines")
    await export(store, folder / "again")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    await store.close()
    return most / 1e6


async def measure(report: Report, folder: Path, messages: int) -> None:
    """Measure export and import of one SQLite store."""
    store = await open_store(f"sqlite:///{folder}/one.db")
    await fill(store, messages)
    other = await open_store(f"sqlite:///{folder}/two.db")
    lines = folder / "lines"
    seconds, busy = {}, {}
    acts: dict[str, Act] = {
        "export": lambda: export(store, lines),
        "bare import": lambda: asyncio.to_thread(bare_import, lines, folder / "bare.db"),
        "bare import with a full-text index": partial(
            asyncio.to_thread, bare_import, lines, folder / "indexed.db", index=True
        ),
        "import": lambda: take_in(other, lines),
        "bare export": lambda: asyncio.to_thread(bare_export, folder / "bare.db", folder / "bare"),
    }
    for name, work in acts.items():
        started, before = time.perf_counter(), time.process_time()
        await work()
        seconds[name], busy[name] = time.perf_counter() - started, time.process_time() - before
    await store.close()
    await other.close()
    rows = [[name, f"{messages / seconds[name]:,.0f}", f"{busy[name] / messages * 1e6:.0f}"] for name in acts]
    columns = ["what", "messages a second", "processor time of a message, us"]
    report.table(f"{messages:,} messages, SQLite", columns, rows)
    report.bar("export, of the bare rows' rate", seconds["bare export"] / seconds["export"], at_least=0.3)
    report.bar("import, of the bare rows' rate", seconds["bare import"] / seconds["import"], at_least=0.6)
    indexed = seconds["bare import with a full-text index"]
    report.bar("import, of the rate of bare rows that can be searched", indexed / seconds["import"], at_least=0.6)


async def fill_idle(store: Store, conversations: int) -> None:
    """Store conversations that nobody has used for a hundred days: eight in ten are abandoned by now, one is completed,
    and one is active."""
    then = utc_now() - timedelta(days=100)

    async def add(number: int) -> None:
        await store.create(LOCAL, NewConversation(id=f"c{number}"), at=then)
        if status := {0: Status.COMPLETED, 1: None}.get(number % 10, Status.ABANDONED):
            await store.update(LOCAL, f"c{number}", Update(status=status), at=then)

    for first in range(0, conversations, IN_ONE):
        await asyncio.gather(*map(add, range(first, min(first + IN_ONE, conversations))))


async def talk(conversations: Conversations, taken: list[float], is_over: Callable[[], bool]) -> None:
    """Take turns, four at a time, until it is over; note what each took."""

    async def one() -> None:
        handle = await conversations.create()
        while not is_over():
            taken.append((await first_and_last(handle))[1])
            await asyncio.sleep(0.05)

    await asyncio.gather(*(one() for _ in range(4)))


async def measure_retention(report: Report, folder: Path, conversations: int) -> None:
    """Measure turns without and with a retention run beside them."""
    store = await open_store(f"sqlite:///{folder}/idle.db")
    await fill_idle(store, conversations)
    alone: list[float] = []
    beside: list[float] = []
    async with await open_conversations(store, [ASSISTANT], model=InstantModel()) as kept:
        await talk(kept, [], partial(_has_passed, time.monotonic() + 2))
        await talk(kept, alone, partial(_has_passed, time.monotonic() + 20))
        started = time.perf_counter()
        run = asyncio.create_task(kept.admin.retention.run(LOCAL.tenant))
        await talk(kept, beside, run.done)
        done, seconds = await run or Counter(), time.perf_counter() - started
    rows = [
        [name, f"{len(taken):,}", *(f"{quantiles(taken, n=100)[at] * 1000:.1f}" for at in (49, 98))]
        for name, taken in (("alone", alone), ("beside a retention run", beside))
    ]
    report.table(f"turns of 200 tokens, four people, {conversations:,} conversations, SQLite", TURN_COLUMNS, rows)
    report.note(f"the run took {seconds:.1f} s: {done['abandon']:,} marked, {done['delete']:,} deleted")
    report.bar("a retention run over 100,000 conversations, minutes", seconds / conversations * 100_000 / 60, at_most=5)
    ratio = quantiles(beside, n=100)[98] / quantiles(alone, n=100)[98]
    report.bar("99th percentile of a turn beside a retention run, of that alone", ratio, at_most=2)


async def measure_holds(report: Report, folder: Path) -> None:
    """Measure how long turns of a conversation of long messages, which were never counted, hold up all others."""
    held: list[float] = []

    def run(handle: asyncio.Handle) -> None:
        started = time.thread_time()
        step(handle)
        held.append(time.thread_time() - started)

    store = await open_store(f"sqlite:///{folder}/long.db")
    async with await open_conversations(store, [Assistant(name="bench")], model=InstantModel()) as kept:
        chat = await kept.create()
        for messages in islice(turns(), LONG_MESSAGES // 2):
            bodies = (each.model_copy(update={"content": each.content * LONG}) for each in messages)
            bodies = (each.model_copy(update={"content": each.content[:LONG]}) for each in bodies)
            await store.append(LOCAL, chat.id, Append(bodies=tuple(bodies)))
        await first_and_last(await kept.create())
        step, asyncio.Handle._run = asyncio.Handle._run, run  # type: ignore[method-assign, assignment]
        try:
            for _ in range(3):
                await first_and_last(chat)
        finally:
            asyncio.Handle._run = step  # type: ignore[method-assign]
    what = (
        f"the event loop is held by turns after {LONG_MESSAGES} messages of {LONG:,} characters, ms of processor time"
    )
    report.bar(what, max(held) * 1000, at_most=50)


def _has_passed(moment: float) -> bool:
    return time.monotonic() >= moment


async def main(messages: int) -> None:
    """Run the benchmark."""
    report = Report(sys.stdout)
    report.title("Keeping: retention")
    with TemporaryDirectory() as folder:
        await measure_retention(report, Path(folder), messages)
    report.title("Keeping: long messages")
    with TemporaryDirectory() as folder:
        await measure_holds(report, Path(folder))
    report.title("Keeping: search")
    with TemporaryDirectory() as folder:
        await measure_searches(report, Path(folder), 1_000_000 if messages >= 100_000 else 50_000)
    report.title("Keeping: export and import")
    with TemporaryDirectory() as folder:
        await measure(report, Path(folder), messages)
        small, large = await peak(Path(folder), IN_ONE), await peak(Path(folder), messages // 2)
    report.bar(f"memory for {messages // 2:,} messages, of that for {IN_ONE:,}", large / small, at_most=2)
    report.note(f"peak {small:.1f} and {large:.1f} MB")
    report.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="export and import beside bare rows")
    parser.add_argument("--quick", action="store_true", help="10,000 messages instead of 100,000")
    asyncio.run(main(10_000 if parser.parse_args().quick else 100_000))
