"""What the stores cost, beside the raw limit of each measured in the same run.

    make bench                        all of it
    python -m bench.store --quick     a short run
    python -m bench.store --sqlite    SQLite only

Ratios are what counts; the machines are noisy. A bar that is not reached is marked; nothing here fails a build.
"""

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

import asyncpg

from bench.bare import BarePostgres, BareSqlite
from bench.counting import RecordRequests, counted, fsyncs
from bench.report import Report
from bench.stopwatch import Act, race, rate
from bench.texts import chat_text, turns
from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.server.connection import tune_garbage_collector
from threadkeep.store.base import Store
from threadkeep.store.codec import Packer
from threadkeep.store.paging import walk
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import Append

LENGTHS = (10, 100, 1_000, 10_000, 100_000)
CONVERSATIONS = 32
WIDTHS = (0, 1, CONVERSATIONS)
DISK = "bytes on disk / raw text at 5,000 messages, index included"


async def fill(store: Store, conversation: str, entries: int, report: Report) -> None:
    """Bring a conversation to this many entries, a hundred in one append."""
    source = turns(entries)
    done = 0
    while done < entries:
        size = min(100, entries - done)
        bodies = tuple(message for turn in islice(source, (size + 1) // 2) for message in turn)[:size]
        await store.append(LOCAL, conversation, Append(bodies=bodies))
        done += size
        report.progress(f"filling {entries}", done / entries)


async def settle(store: Store) -> None:
    """Have everything made up for that follows the log when writing pauses: the search index, the order of the list."""
    if isinstance(store, SqliteStore):
        await store.maintenance.catch_up()
    await store.list(LOCAL)
    await store.search(LOCAL, "settle")


def saver(store: Store, conversation: str, messages: int = 2) -> Act:
    """Return an act that appends one turn (or one message of it)."""
    source = turns(7)
    return lambda: store.append(LOCAL, conversation, Append(bodies=next(source)[-messages:]))


async def conversations(store: Store, count: int) -> list[str]:
    """Create conversations."""
    return [(await store.create(LOCAL, NewConversation())).conversation.id for _ in range(count)]


async def measure_length(store: Store, bare: Act, report: Report, lengths: Sequence[int], rounds: int) -> None:
    """What one more turn and a restore cost at different lengths."""
    names = dict(zip(lengths, await conversations(store, len(lengths)), strict=True))
    for length, name in names.items():
        await fill(store, name, length, report)
    await settle(store)
    saves = {f"{length}": saver(store, name) for length, name in names.items()}
    took = await race({"bare": bare, **saves}, rounds=rounds)
    report.table(
        "One more turn (two messages, one commit), x a bare INSERT of two rows",
        ["entries stored", "median us", "x bare"],
        [["bare", f"{took['bare'].median:.0f}", "1"]]
        + [[name, f"{took[name].median:.0f}", f"{took[name].median / took['bare'].median:.2f}"] for name in saves],
    )
    report.bar("one more turn at the longest / bare", took[f"{lengths[-1]}"].median / took["bare"].median, at_most=1.25)
    report.bar("one more turn at the longest / at 10", took[f"{lengths[-1]}"].median / took["10"].median, at_most=1.3)
    report.bar("one more turn at the longest, ms", took[f"{lengths[-1]}"].median / 1000, at_most=100)
    await measure_restore(store, names, report)


async def measure_restore(store: Store, names: dict[int, str], report: Report) -> None:
    """What reading back costs."""
    (short,) = await conversations(store, 1)
    await fill(store, short, 20, report)
    longest = max(names)
    acts: dict[str, Act] = {
        "newest 20 of 20": lambda: store.newest(LOCAL, short, limit=20),
        f"newest 20 of {longest}": lambda: store.newest(LOCAL, names[longest], limit=20),
    }
    took = await race(acts, rounds=30, acts=10)

    async def everything() -> float:
        started = time.process_time()
        async for _ in walk(store, LOCAL, names[longest]):
            pass
        return time.process_time() - started

    whole = min([await everything() for _ in range(5)])
    rows = [[name, f"{timing.median:.0f}"] for name, timing in took.items()]
    report.table("Restoring", ["what", "us"], [*rows, [f"all {longest}, processor time", f"{whole * 1e6:.0f}"]])
    few, many = took.values()
    report.bar("newest 20 of the longest / 20 of 20", many.median / few.median, at_most=1.5)
    report.bar("restoring the newest 20, ms", many.median / 1000, at_most=0.25)
    if isinstance(store, SqliteStore):
        report.bar("whole branch, us an entry", whole / longest * 1e6, at_most=3)
    else:
        report.note(f"whole branch: {whole / longest * 1e6:.1f} us an entry")


async def measure_append(store: Store, bare: Act, report: Report, rounds: int) -> None:
    """What one durable append of one message costs, alone and with the search index made up for."""
    (name,) = await conversations(store, 1)
    took = await race({"bare": bare, "append": saver(store, name, 1)}, rounds=rounds)
    report.bar("one append / bare INSERT, median", took["append"].median / took["bare"].median, at_most=1.25)

    async def indexed() -> None:
        save = saver(store, name, 1)
        for _ in range(500):
            await save()
        await settle(store)

    async def plain() -> None:
        for _ in range(500):
            await bare()

    ours, theirs = 1 / await rate(indexed(), 500), 1 / await rate(plain(), 500)
    report.note(f"500 appends and their search index, all paid: {ours / theirs:.2f} x 500 bare INSERTs")


async def measure_rate(store: Store, rivals: dict[str, Callable[[int], Act]], report: Report, count: int) -> None:
    """Turns in a second, from one conversation and from many at a time."""
    for width in (1, CONVERSATIONS):
        names = await conversations(store, width)
        savers = [saver(store, name) for name in names]
        makers: dict[str, Callable[[int], Act]] = {**rivals, "threadkeep": savers.__getitem__}
        best: dict[str, float] = {}
        waits: dict[str, list[float]] = {}
        started = time.perf_counter()
        for _ in range(3):
            for title, make in makers.items():
                mine = waits[title] = []
                writing = asyncio.gather(*(_repeat(make(number), count // width, mine) for number in range(width)))
                started = time.perf_counter()
                speed = await rate(writing, count)
                best[title] = max(speed, best.get(title, 0))
            await settle(store)
            paid = count / (time.perf_counter() - started)
            best["threadkeep, index paid"] = max(paid, best.get("threadkeep, index paid", 0))
        rows = [[title, f"{speed:.0f}", f"{speed / best['bare']:.2f}"] for title, speed in best.items()]
        report.table(f"Turns a second, {width} conversation(s) at a time", ["", "turns/s", "x bare"], rows)
        if width > 1:
            limits = {"bare": 2.5, "bare, grouped": 0.4} if len(rivals) > 1 else {"bare": 0.7}
            for title, share in limits.items():
                report.bar(f"turns a second / {title}", best["threadkeep"] / best[title], at_least=share)
            slow = {title: [sorted(taken)[len(taken) * at // 100] for at in (50, 99)] for title, taken in waits.items()}
            for title, (half, most) in slow.items():
                report.note(f"{title}: a turn takes {half * 1000:.1f} ms, {most * 1000:.1f} at the 99th percentile")
            report.bar("99th percentile / median", slow["threadkeep"][1] / slow["threadkeep"][0], at_most=5)


async def _repeat(act: Act, times: int, waits: list[float]) -> None:
    for _ in range(times):
        started = time.perf_counter()
        await act()
        waits.append(time.perf_counter() - started)


async def measure_sqlite(report: Report, folder: Path, quick: bool) -> None:
    """The SQLite store beside bare SQLite."""
    report.title("SQLite")
    source = turns(3)
    bare = BareSqlite(folder / "bare.db")
    store = await open_store(f"sqlite:///{folder / 'threadkeep.db'}")
    await measure_append(store, lambda: bare.insert(next(source)[1]), report, 10 if quick else 60)
    lengths = LENGTHS[:4] if quick else LENGTHS
    await measure_length(store, lambda: bare.insert(*next(source)), report, lengths, 10 if quick else 60)
    rivals: dict[str, Callable[[int], Act]] = {
        "bare": lambda _: lambda: bare.insert(*next(source)),
        "bare, grouped": lambda _: lambda: bare.group(*next(source)),
    }
    await measure_rate(store, rivals, report, 1600 if quick else 6400)
    await store.close()
    raw = await store_chats(f"sqlite:///{folder / 'disk.db'}")
    report.bar(DISK, (folder / "disk.db").stat().st_size / raw, at_most=1.5)
    count_fsyncs(report, folder)


def count_fsyncs(report: Report, folder: Path, appends: int = 320) -> None:
    """How often the disk is waited for, with one caller and with 32 that share commits."""
    counts = [
        fsyncs("bench.writer", f"sqlite:///{folder / f'sync{width}.db'}", f"{width}", f"{appends}") for width in WIDTHS
    ]
    if None in counts:
        report.note("fsyncs were not counted: strace is not installed")
        return
    opening, one, many = (count or 0 for count in counts)
    report.note(
        f"fsyncs for {appends} appends: {one - opening} from one conversation, {many - opening} from 32 at a time"
    )


async def store_chats(url: str) -> int:
    """Store 5,000 messages, half of them in one conversation and half in fifty, and return the bytes of their text."""
    store = await open_store(url)
    source, raw = turns(11), 0
    for name in [*(await conversations(store, 1)) * 50, *await conversations(store, 50)]:
        for turn in islice(source, 25):
            raw += sum(len(message.content.encode()) for message in turn)
            await store.append(LOCAL, name, Append(bodies=turn))
    await settle(store)
    await store.close()
    return raw


def measure_ratio(report: Report) -> None:
    """How well content is compressed, message by message."""
    packer = Packer()
    source = turns(5)
    texts = [message.content for turn in islice(source, 500) for message in turn]
    large = chat_text()
    small = sum(len(text.encode()) for text in texts) / sum(len(packer.pack(text) or b"") for text in texts)
    report.note(f"compression of held-out chat text, messages of 100 and 400 characters: {small:.2f} : 1")
    whole = len(large.encode()) / len(packer.pack(large) or b"")
    report.note(f"compression of {len(large) // 1024} KiB of it in one piece: {whole:.2f} : 1")


@asynccontextmanager
async def database() -> AsyncIterator[Urls]:
    with PostgresServer.start() as server:
        urls = server.fresh_database()
        server.execute("GRANT CREATE ON SCHEMA public TO PUBLIC", server.as_admin(urls))
        yield urls


async def measure_postgres(report: Report, quick: bool) -> None:
    """The PostgreSQL store beside bare INSERTs of the same role."""
    report.title("PostgreSQL")
    async with database() as urls:
        source = turns(3)
        bares = [await BarePostgres.open(urls.server) for _ in range(CONVERSATIONS)]
        store = await open_store(urls.server)
        await measure_append(store, lambda: bares[0].insert(next(source)[1]), report, 10 if quick else 60)
        lengths = LENGTHS[:4] if quick else LENGTHS
        await measure_length(store, lambda: bares[0].insert(*next(source)), report, lengths, 10 if quick else 60)
        rivals: dict[str, Callable[[int], Act]] = {"bare": lambda at: lambda: bares[at].insert(*next(source))}
        await measure_rate(store, rivals, report, 1600 if quick else 6400)
        await store.close()
        async with counted(urls.server) as (url, trips):
            await count_trips(url, trips, report)
        for bare in bares:
            await bare.connection.close()
    async with database() as urls:
        empty = await _database_size(urls)
        raw = await store_chats(urls.server)
        report.bar(DISK, (await _database_size(urls) - empty) / raw, at_most=1.5)


async def count_trips(url: str, trips: RecordRequests, report: Report) -> None:
    """How often the client waits for the server in one append."""
    store = await open_store(url)
    (name,) = await conversations(store, 1)
    save = saver(store, name)
    await _repeat(save, 20, [])
    before = trips.count
    await _repeat(save, 100, [])
    report.bar("round trips for one append", (trips.count - before) / 100, at_most=1)
    await store.close()


async def _database_size(urls: Urls) -> int:
    connection = await asyncpg.connect(urls.owner)
    await connection.execute("VACUUM")
    size = await connection.fetchval("SELECT pg_database_size(current_database())")
    await connection.close()
    return int(size)


async def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="bench.store", description="Cost of the stores beside the raw limits.")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 entries and few rounds")
    parser.add_argument("--sqlite", action="store_true", help="SQLite only")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL only")
    options = parser.parse_args()
    report = Report(sys.stdout)
    tune_garbage_collector()  # as `threadkeep serve` does
    measure_ratio(report)
    folder = Path(mkdtemp(prefix="threadkeep-bench-"))
    try:
        if not options.postgres:
            await measure_sqlite(report, folder, options.quick)
        if not options.sqlite:
            await measure_postgres(report, options.quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
