"""One shard group as it grows: what a call takes and touches at 10^4, 10^5 and 10^6 conversations, with the real SQL.

    nice -n 15 python -m bench.capacity [--sizes 10000 100000 1000000]

Five hundred conversations are written as servers do, of generated sizes; then the database itself copies their rows,
under other keys, for other people of other tenants, until there are enough. The sizes live side by side and take turns,
so that what else the machine does hits all of them. Times depend on that machine; how many pages of the database
a call touches does not, and grows with nothing else.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import asyncpg

from bench.report import Report
from bench.texts import turns
from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.codec import decode_id
from threadkeep.store.values import Append, Begin, Page
from threadkeep.testing.samples import MINUTE, asked
from threadkeep.text.words import words

PEOPLE, EACH = 5, 100
"""Whose conversations are copied, and how many each has."""
MEAN_TURNS, MOST_TURNS = 3, 200
TENANTS = 50
ACTIVE = 100
"""Of how many people things are asked: whoever asks once asks again."""
TOLD_AFTER = 11.0
"""After how many idle seconds a session has told what it did."""
SIZES = (10_000, 100_000, 1_000_000)
BAR = 2.0
SETTINGS = {
    "max_wal_size": "'2GB'",
    "full_page_writes": "off",
    "maintenance_work_mem": "'1GB'",
    "shared_buffers": "'1GB'",
}
INDEX = "SELECT pg_get_indexdef('threadkeep.word_by_words'::regclass)"
STRIDE = 100_000
# Copies `first` to `last` of all that the people of the first tenant have, under keys of their own.
COPY = (
    """INSERT INTO threadkeep.person (tenant, key, name)
    SELECT 1 + j % {tenants}, p.key + j * {people}, 'person' || p.key + j * {people}
    FROM threadkeep.person p, generate_series({first}, {last}) j WHERE p.tenant = 1 AND p.key <= {people}""",
    """INSERT INTO threadkeep.conversation (key, created_at, updated_at, tenant, owner, version, indexed, bytes,
        is_first, id, facts, large) OVERRIDING SYSTEM VALUE
    SELECT c.key + j * {stride}, c.created_at - j * interval '1 s', c.updated_at - j * interval '1 s',
        1 + j % {tenants}, c.owner + j * {people}, c.version, c.indexed, c.bytes, c.is_first,
        decode(md5(c.key || '-' || j), 'hex'), c.facts, c.large
    FROM generate_series({first}, {last}) j, threadkeep.conversation c WHERE c.key < {stride}""",
    """INSERT INTO threadkeep.entry SELECT e.created_at - j * interval '1 s', e.total, e.conversation + j * {stride},
        1 + j % {tenants}, e.seq, e.parent, e.kind, e.turn, e.head, e.newest, e.tokens, e.id, e.content, e.parts,
        e.messages
    FROM generate_series({first}, {last}) j, threadkeep.entry e WHERE e.conversation < {stride}""",
    """INSERT INTO threadkeep.key SELECT k.conversation + j * {stride}, 1 + j % {tenants}, k.first, k.last,
        substring(sha256(k.name || int4send(j)) FOR length(k.name)), k.digest
    FROM generate_series({first}, {last}) j, threadkeep.key k WHERE k.conversation < {stride}""",
    """INSERT INTO threadkeep.title_word (conversation, created_at, tenant, owner, word)
    SELECT t.conversation + j * {stride}, t.created_at - j * interval '1 s', 1 + j % {tenants}, t.owner + j * {people},
        t.word
    FROM generate_series({first}, {last}) j, threadkeep.title_word t WHERE t.conversation < {stride}""",
    """INSERT INTO threadkeep.word (created_at, position, conversation, tenant, seq, words)
    SELECT w.created_at - j * interval '1 s', w.position - j * 1000000::bigint, w.conversation + j * {stride},
        1 + j % {tenants}, w.seq,
        concat(split_part(w.words, ' ¤u', 1), ' ¤u', c.owner + j * {people}, ' ¤c', c.key + j * {stride})
    FROM generate_series({first}, {last}) j, threadkeep.word w
    JOIN threadkeep.conversation c ON c.key = w.conversation WHERE w.conversation < {stride}""",
)


class Size(NamedTuple):
    """A database with so many conversations, opened as a server does, and who is asked about."""

    conversations: int
    database: str
    store: Store
    admin: "asyncpg.Connection[asyncpg.Record]"
    people: list[tuple[Scope, list[str]]]


async def plant(url: str) -> None:
    """Write the conversations that are copied."""
    store = await open_store(url)
    dice, said = random.Random(1), turns(5)
    for number in range(1, PEOPLE + 1):
        scope = Scope(tenant="tenant0", user=f"person{number}")
        for _ in range(EACH):
            title = " ".join(next(said)[0].content.split()[1:6])
            name = (await store.create(scope, NewConversation(title=title[:100]))).conversation.id
            for _ in range(min(MOST_TURNS, 1 + int(dice.expovariate(1 / (MEAN_TURNS - 1))))):
                await turn(store, scope, name, next(said))
        await store.search(scope, "everything")
    await store.create(Scope(tenant="tenant0", user="nobody"), NewConversation())
    await store.close()


async def turn(store: Store, scope: Scope, name: str, said: tuple[Any, Any]) -> None:
    """Do one turn: the question with its key, and the answer with the end of the turn."""
    question, answer = said
    key = IdempotencyKey.of("send", str(random.random()), [question.content])
    begun = await store.begin(scope, name, Begin(message=question, owner="one", lease_for=MINUTE, key=key))
    settle = TurnChange(state=TurnState.COMPLETED)
    await store.append(scope, name, Append(bodies=(answer,), lease=begun.lease, settle=settle))


async def grow(url: str, first: int, last: int, report: Report) -> None:
    """Make the copies from one number to another."""
    connection = await asyncpg.connect(url)
    names = {"tenants": TENANTS, "people": PEOPLE, "stride": STRIDE}
    step = 100
    index = await connection.fetchval(INDEX)
    await connection.execute("DROP INDEX threadkeep.word_by_words")
    for start in range(first, last + 1, step):
        for sql in COPY:
            await connection.execute(sql.format(first=start, last=min(start + step - 1, last), **names))
        report.progress("copies", (start - first) / (last - first))
    report.progress("copies", 1.0)
    await connection.execute(index)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def sizes_of(server: PostgresServer, wanted: list[int], report: Report) -> list[Size]:
    """Make one database of each size, each from a copy of the one before."""
    urls, made, copies = server.fresh_database(), [], 0
    await plant(urls.server)
    admin = server.as_admin(urls)
    for number in range(1, TENANTS):
        sql = "INSERT INTO threadkeep.tenant (key, name) OVERRIDING SYSTEM VALUE VALUES ({}, 'tenant{}')"
        await asyncio.to_thread(server.execute, sql.format(number + 1, number), admin)
    for size in wanted:
        began = time.monotonic()
        await grow(admin, copies + 1, copies := size // (PEOPLE * EACH) - 1, report)
        report.note(f"{size:,} conversations: made in {time.monotonic() - began:.0f} s")
        made.append((size, urls))
        if size != wanted[-1]:
            urls = await asyncio.to_thread(copied, server, urls)
            admin = server.as_admin(urls)
    return [await opened(server, size, urls) for size, urls in made]


def copied(server: PostgresServer, urls: Urls) -> Urls:
    """Return a copy of a database."""
    copy = server.fresh_database(migrated=False)
    old, new = (each.owner.partition("?")[0].rpartition("/")[2] for each in (urls, copy))
    server.execute(f"DROP DATABASE {new}")
    server.execute(f"CREATE DATABASE {new} TEMPLATE {old} STRATEGY file_copy")
    return copy


async def opened(server: PostgresServer, count: int, urls: Urls) -> Size:
    """Open a database, and choose who is active in it."""
    admin = await asyncpg.connect(server.as_admin(urls))
    await admin.execute("SELECT setval('threadkeep.person_key', (SELECT max(key) FROM threadkeep.person))")
    for table, column in (("conversation", "key"), ("tenant", "key")):
        sequence = f"pg_get_serial_sequence('threadkeep.{table}', '{column}')"
        await admin.execute(f"SELECT setval({sequence}, (SELECT max({column}) FROM threadkeep.{table}))")
    people = await admin.fetch(
        "SELECT tenant, key, name FROM threadkeep.person WHERE name <> 'nobody' ORDER BY md5(name) LIMIT $1",
        ACTIVE,
    )
    active = []
    for tenant, key, name in people:
        rows = await admin.fetch("SELECT id FROM threadkeep.conversation WHERE tenant = $1 AND owner = $2", tenant, key)
        active.append((Scope(tenant=f"tenant{tenant - 1}", user=name), [decode_id(row["id"]) for row in rows]))
    return Size(
        count,
        urls.owner,
        await open_store(f"{urls.server}{'&' if '?' in urls.server else '?'}pool_size=2"),
        admin,
        active,
    )


class Calls:
    """What is asked, each time about somebody else."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._lease: Lease | None = None
        self._end: tuple[Scope, str, Cursor] | None = None
        self._offset = 0
        self._said = turns(9)
        self._words = sorted({word for _ in range(300) for word in words(next(self._said)[1].content) if len(word) > 4})

    def _one(self, size: Size) -> tuple[Scope, str]:
        scope, names = self._dice.choice(size.people)
        return scope, self._dice.choice(names)

    async def append(self, size: Size) -> None:
        await turn(size.store, *self._one(size), next(self._said))

    async def piece(self, size: Size) -> None:
        if self._lease is None:
            begun = await size.store.begin(
                *self._one(size), Begin(message=asked("go"), owner="one", lease_for=10 * MINUTE)
            )
            self._lease, self._offset = begun.lease, 0
        assert self._lease is not None
        await size.store.write(self._lease, "answer", self._offset, "word ")
        self._offset += len("word ")

    async def look(self, size: Size) -> None:
        if self._end is None:
            scope, name = self._one(size)
            self._end = scope, name, Cursor(seq=(await size.store.get(scope, name)).entries)
        await size.store.log(*self._end)

    async def list(self, size: Size) -> None:
        await size.store.list(self._one(size)[0], limit=20)

    async def search(self, size: Size) -> None:
        await size.store.search(self._one(size)[0], f"{self._dice.choice(self._words)} ", limit=20)

    async def search_beginning(self, size: Size) -> None:
        await size.store.search(self._one(size)[0], self._dice.choice(self._words)[:5], limit=20)

    async def restore(self, size: Size) -> None:
        await size.store.snapshot(*self._one(size), Page(messages=20))


async def pages(sizes: list[Size]) -> list[int]:
    """Return how many pages of each database were touched so far."""
    await asyncio.sleep(TOLD_AFTER)
    touched = []
    for size in sizes:
        await size.admin.execute("SELECT pg_stat_clear_snapshot()")
        row = await size.admin.fetchrow(
            "SELECT sum(io.hits + io.reads) AS touched FROM pg_stat_activity a, pg_stat_get_backend_io(a.pid) io "
            "WHERE a.application_name = 'threadkeep' AND a.datname = current_database()"
        )
        assert row is not None
        touched.append(int(row["touched"]))
    return touched


async def measure(sizes: list[Size], report: Report, rounds: int, acts: int) -> None:
    """Let every size do the same in turn, and hold it against the smallest."""
    calls = Calls(3)
    verbs: dict[str, Callable[[Size], Awaitable[None]]] = {
        "restore": calls.restore,
        "list": calls.list,
        "search for a word": calls.search,
        "search for the beginning of a word": calls.search_beginning,
        "append": calls.append,
    }
    rows = []
    for name, verb in verbs.items():
        times: dict[int, list[float]] = {size.conversations: [] for size in sizes}
        touched: dict[int, float] = {}
        for size in sizes:
            for _ in range(2 * acts):
                await verb(size)
        for _ in range(rounds):
            for size in sizes:
                for _ in range(acts):
                    began = time.perf_counter()
                    await verb(size)
                    times[size.conversations].append(time.perf_counter() - began)
        before = await pages(sizes)
        for size in sizes:
            for _ in range(10 * acts):
                await verb(size)
        for size, first, last in zip(sizes, before, await pages(sizes), strict=True):
            touched[size.conversations] = (last - first) / (10 * acts)
        least = sizes[0].conversations
        for size in sizes:
            took = median(times[size.conversations])
            rows.append((name, f"{size.conversations:,}", f"{took * 1000:.2f}", f"{touched[size.conversations]:.0f}"))
            if size.conversations != least:
                report.bar(f"{name} at {size.conversations:,}, time", took / median(times[least]), at_most=BAR)
                report.bar(
                    f"{name} at {size.conversations:,}, pages",
                    touched[size.conversations] / touched[least],
                    at_most=BAR,
                )
    report.table("A call", ["what", "conversations", "median ms", "pages touched"], rows)


async def spend(size: Size, report: Report, calls: int) -> None:
    """Show what a call costs the database in processor time, whoever else is on the machine."""
    ask = Calls(7)
    backends = "SELECT pid FROM pg_stat_activity WHERE application_name = 'threadkeep' AND datname = current_database()"
    verbs = {
        "a turn that is stored at once": ask.append,
        "a piece of text": ask.piece,
        "a list": ask.list,
        "a restore": ask.restore,
        "a look into a log that has not grown": ask.look,
        "a search": ask.search,
    }
    rows = []
    for name, verb in verbs.items():
        await verb(size)
        pids = [row["pid"] for row in await size.admin.fetch(backends)]
        before, own = processor_seconds(pids), time.process_time()
        for _ in range(calls):
            await verb(size)
        took, own = processor_seconds(pids) - before, time.process_time() - own
        rows.append((name, f"{took / calls * 1e6:.0f}", f"{own / calls * 1e6:.0f}"))
    report.table(f"{size.conversations:,} conversations", ["what", "database, us", "server, us"], rows)


def processor_seconds(pids: list[int]) -> float:
    """Return the processor time of processes so far."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


async def weigh(size: Size, report: Report) -> None:
    """Show what the largest takes on disk."""
    rows = await size.admin.fetch(
        "SELECT relname, pg_table_size(c.oid) AS rows, pg_indexes_size(c.oid) AS indexes, reltuples FROM pg_class c "
        "WHERE relnamespace = 'threadkeep'::regnamespace AND relkind = 'r' AND reltuples > 1000 ORDER BY 2 DESC"
    )
    shown = [
        (
            row["relname"],
            f"{row['reltuples']:,.0f}",
            f"{row['rows'] / 2**20:,.0f}",
            f"{row['indexes'] / 2**20:,.0f}",
            f"{(row['rows'] + row['indexes']) / size.conversations:,.0f}",
        )
        for row in rows
    ]
    report.table(
        f"{size.conversations:,} conversations", ["table", "rows", "MB", "MB of indexes", "bytes a conversation"], shown
    )


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args()
    report = Report(sys.stdout)
    report.title("One shard group as it grows")
    with PostgresServer.start(durable=False) as server:
        for name, value in SETTINGS.items():
            server.execute(f"ALTER SYSTEM SET {name} = {value}")
        server.stop()
        server.restart()
        sizes = await sizes_of(server, sorted(chosen.sizes), report)
        await weigh(sizes[-1], report)
        await spend(sizes[0], report, 1000)
        if len(sizes) > 1:
            await measure(sizes, report, chosen.rounds, 20)
        for size in sizes:
            await size.store.close()
            await size.admin.close()
    report.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
