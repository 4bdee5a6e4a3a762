"""Real servers whose PostgreSQL is stopped, frozen, full, read-only or failing over, or behind a network that is
silent, slow, half-open or resets, while people write; killed during outage and drain:
`python -m tests.acceptance.outages --count 20 --seed 7`. Where disks can be mounted (`unshare --mount`, as root), that
of the tables and that of the write-ahead log are really full; the second ends PostgreSQL.

Whatever was acknowledged is in the database in the end, once, and the spool is empty within ten seconds after the
return; the suite, on a busy machine, waits longer. Ends with an error if a promise was broken.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg
import httpx

from tests.database_proxy import DatabaseProxy, before
from tests.integration.full_postgres import put_tables_on, small_disk
from tests.postgres_server import PostgresServer, Urls
from tests.standby import replicated
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange
from threadkeep.runtime import open_store
from threadkeep.testing.stores import whole_log

PATIENCE = 60
DRAINED_WITHIN = 10
WRITERS = 6
PACE = 0.2
"""Seconds between two messages of a writer: who writes more than can be answered makes a queue that only grows."""
SETTINGS = {"THREADKEEP_LOG_LEVEL": "error", "THREADKEEP_OUTAGE_AFTER": "1", "THREADKEEP_QUEUED_TURNS": "0"}
SLOW = 2.0
"""Seconds that a slow network takes for each piece: more than a server waits."""
RETRIED = 0.2
"""How often somebody sends once more what was acknowledged before."""
PRESSED = 3
"""How many messages each writer has acknowledged before something happens."""


class Outcome(NamedTuple):
    """How many messages were acknowledged, the most seconds that the spool took to be empty, and how many messages were
    sent once more with their keys."""

    messages: int
    drained_in: float
    retried: int = 0


class Instance:
    """A server process with a spool, which can be killed and started anew at the same address."""

    def __init__(self, store: str, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    async def start(self, dies_at: int | None = None) -> None:
        """Start it; it may kill itself at a step of draining the spool."""
        flags = ("--port", str(self.port), "--model", "demo", "--store", self._store, "--spool", str(self._folder))
        program = ("threadkeep.cli.main",) if dies_at is None else ("tests.acceptance.dying", str(dies_at))
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *program, "serve", *flags),
            cwd=Path(__file__).parents[2],
            env={**os.environ, **SETTINGS},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if line := (await self._process.stdout.readline()).decode():
            self.port = int(line.split()[-1].rpartition(":")[2])
        else:
            await self._process.wait()  # it died while it started

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    @property
    def is_dead(self) -> bool:
        return self._process is None or self._process.returncode is not None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Writers:
    """People who send one message after the other, each until it is acknowledged, with a key of its own."""

    def __init__(self, instance: Instance, chance: random.Random) -> None:
        self._instance = instance
        self._chance = chance
        self._is_over = False
        self.acknowledged: dict[str, str] = {}
        self.spooled = 0
        self.retried = 0

    async def write(self, number: int) -> None:
        """Send messages: some two at a time, so that one is queued, and some that were sent long ago once more."""
        async with httpx.AsyncClient(timeout=20) as client:
            created = await self._insist(client, "/v1/conversations", {}, f"create {number}")
            sent: list[str] = []
            while not self._is_over:
                texts = [f"message {len(sent) + more} of {number}" for more in range(self._chance.choice([1, 1, 2]))]
                await asyncio.gather(*(self._send(client, created["id"], text) for text in texts))
                if sent and self._chance.random() < RETRIED:
                    self.retried += 1
                    await self._send(client, created["id"], self._chance.choice(sent[-20:]))
                sent += texts
                await asyncio.sleep(PACE)

    async def _send(self, client: httpx.AsyncClient, conversation: str, text: str) -> None:
        path = f"/v1/conversations/{conversation}/messages"
        answer = await self._insist(client, path, {"content": text}, text)
        self.acknowledged[text] = conversation
        self.spooled += answer["turn"]["spooled"]

    async def _insist(self, client: httpx.AsyncClient, path: str, body: dict[str, str], key: str) -> dict[str, Any]:
        while True:
            try:
                headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
                answer = await client.post(self._instance.url + path, json=body, headers=headers)
            except httpx.HTTPError:
                await asyncio.sleep(0.05)
                continue
            if answer.status_code < 300:
                return dict(answer.json())
            assert answer.status_code >= 500 or answer.status_code == 429, answer.text
            await asyncio.sleep(0.05)

    async def more(self, count: int = PRESSED) -> None:
        """Wait until everybody has so many more messages acknowledged."""
        wanted = len(self.acknowledged) + count * WRITERS
        async with asyncio.timeout(PATIENCE):
            while len(self.acknowledged) < wanted:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._is_over = True


MOSTLY = 0.7
MOST_STEPS = 60
"""About as many steps of a drain as there are with this many writers."""
REAL_DISKS = ("full disk", "full log")
KINDS = ("stopped", "frozen", "cut", "silent", "half-open", "slow", "resetting", "full", "read-only", "failover")
Call = Callable[[], None]
Happening = Callable[[Instance, Writers, Call], Awaitable[None]]


async def nothing_else(instance: Instance, writers: Writers, back: Call) -> None:
    back()


async def killed_in_outage(instance: Instance, writers: Writers, back: Call) -> None:
    await instance.kill()
    await instance.start()
    await writers.more(1)
    back()


async def killed_in_drain(instance: Instance, writers: Writers, back: Call) -> None:
    held = (await _health(instance))["spooled"]["conversations"]
    back()
    async with asyncio.timeout(PATIENCE):
        while (await _health(instance)).get("spooled", {"conversations": 0})["conversations"] >= held:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    await instance.kill()
    await instance.start()


def killed_at(*steps: int) -> Happening:
    """Return that a server kills itself at these steps of draining, one after the other: each at the next start."""

    async def killed(instance: Instance, writers: Writers, back: Call) -> None:
        left: list[int | None] = [*steps, None]

        async def keep_alive() -> None:
            while True:
                if instance.is_dead:
                    await instance.start(left.pop(0) if left else None)
                await asyncio.sleep(0.02)

        await instance.kill()
        keeper = asyncio.create_task(keep_alive())
        await writers.more(1)
        back()
        await _drained(instance)
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        killed.__name__ += " killed" * (len(steps) - len(left))
        if left:
            await instance.kill()
            await instance.start()

    killed.__name__ = f"killed_at {steps}"
    return killed


async def _health(instance: Instance) -> dict[str, Any]:
    async with httpx.AsyncClient(timeout=10) as client:
        return dict((await client.get(f"{instance.url}/health/ready")).json())


class Fault(NamedTuple):
    """A database goes away in some way, for so long at least; something else happens meanwhile or when it is back."""

    kind: str
    happens: Happening = nothing_else
    lasts: float = 0


class Faults:
    """What takes a database away, and what brings it back, by the name of the fault."""

    def __init__(self, server: PostgresServer, urls: Urls, proxy: DatabaseProxy) -> None:
        self._server = server
        self._proxy = proxy
        self._database = urlsplit(urls.owner).path[1:]
        self._owner = urls.owner
        self.kinds: dict[str, tuple[Call, Call]] = {
            "stopped": (server.stop, server.restart),
            "frozen": (server.freeze, server.thaw),
            "cut": (self._cut, proxy.speak),
            "silent": (proxy.fall_silent, proxy.speak),
            "half-open": (proxy.lose_answers, proxy.speak),
            "slow": (lambda: proxy.slow_down(SLOW), lambda: proxy.slow_down(0)),
            "resetting": (lambda: proxy.cut_often(1), lambda: proxy.cut_often(0)),
            "full": (self._fill, self._empty),
            "read-only": (lambda: self._allow("on"), lambda: self._allow("off")),
        }

    def _cut(self) -> None:
        self._proxy.fall_silent()
        self._proxy.cut()

    def _fill(self) -> None:
        """Have every row refused that a log gains, in the words of a server whose disk is full."""
        full = "CREATE FUNCTION threadkeep.disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$"
        trigger = "CREATE TRIGGER disk BEFORE INSERT ON threadkeep.entry EXECUTE FUNCTION threadkeep.disk()"
        self._server.execute(f"{full}; {trigger}", self._owner)

    def _empty(self) -> None:
        self._server.execute("DROP FUNCTION threadkeep.disk CASCADE", self._owner)

    def _allow(self, only_reading: str) -> None:
        """Change what a session may do, for those that are open and those to come."""
        self._server.execute(f"ALTER DATABASE {self._database} SET default_transaction_read_only = {only_reading}")
        self._server.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self._database}'"
        )


class Disk:
    """A real disk that gets full: of the tables, or of the write-ahead log, which PostgreSQL does not survive."""

    def __init__(self, kind: str, server: PostgresServer, urls: Urls, disk: Path) -> None:
        self._server = server
        self._ballast = disk / "ballast"
        self.is_log = kind == "full log"
        if not self.is_log:
            put_tables_on(disk, server, urls)
            return
        ((data,),) = server.fetch("SHOW data_directory")
        server.stop()
        subprocess.run(["cp", "--archive", f"{data}/pg_wal", disk / "log"], check=True)
        shutil.rmtree(f"{data}/pg_wal")
        Path(data, "pg_wal").symlink_to(disk / "log")
        server.restart()

    def fill(self) -> None:
        with suppress(OSError), self._ballast.open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        if self.is_log:
            # Every switch needs a new file of 16 MB.
            with suppress(asyncpg.PostgresError, OSError):
                while True:
                    self._server.execute("SELECT pg_logical_emit_message(true, '', ''), pg_switch_wal()")

    def empty(self) -> None:
        self._ballast.unlink()
        if self.is_log:
            self._server.restart()


async def play_full_disk(fault: Fault, folder: Path) -> Outcome:
    """Fill a disk of the database while people write, and make room again."""
    with PostgresServer.start(durable=False) as server, small_disk(server, "256m") as mounted:
        urls = server.fresh_database()
        disk = Disk(fault.kind, server, urls, mounted)
        return await _campaign([(disk.fill, disk.empty, fault)], urls.server, urls.server, folder)


async def play(faults: Sequence[Fault], folder: Path) -> Outcome:
    """Take a database away in these ways, one after the other, while people write."""
    with PostgresServer.start(durable=False) as server:
        urls = server.fresh_database()
        async with before(urls.server) as proxy:
            known = Faults(server, urls, proxy).kinds
            steps = [(*known[fault.kind], fault) for fault in faults]
            return await _campaign(steps, proxy.url(), urls.server, folder)


async def play_failover(happens: Happening, folder: Path, lasts: float = 0) -> Outcome:
    """Kill the primary while people write, and promote its standby so much later."""
    with replicated() as (primary, standby, server):
        url = server.fresh_database().server
        hosts = urlsplit(url)._replace(netloc=f"{urlsplit(url).netloc},127.0.0.1:{standby.port}").geturl()
        fault = Fault("failover", happens, lasts)
        return await _campaign([(primary.kill, standby.promote, fault)], hosts, standby.at(url), folder)


async def _campaign(steps: Sequence[tuple[Call, Call, Fault]], url: str, ends_at: str, folder: Path) -> Outcome:
    instance = Instance(url, folder / "spool")
    await instance.start()
    writers, drained_in = Writers(instance, random.Random(len(steps))), [0.0]
    try:
        async with asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                tasks.create_task(writers.write(number))
            for goes, returns, fault in steps:
                await writers.more()
                spooled = writers.spooled
                goes()
                await asyncio.gather(writers.more(), asyncio.sleep(fault.lasts))
                async with asyncio.timeout(PATIENCE):
                    while writers.spooled == spooled:  # a disk that is full may have room in pages that are there
                        await writers.more(1)
                await fault.happens(instance, writers, returns)
                drained_in.append(await _drained(instance))
            await writers.more(1)
            writers.stop()
        await _drained(instance)
        await _check(ends_at, writers)
    finally:
        await instance.kill()
    return Outcome(len(writers.acknowledged), max(drained_in), writers.retried)


async def _drained(instance: Instance) -> float:
    """Wait until the spool is empty; return how many seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(httpx.HTTPError):
                health = await _health(instance)
                if health["status"] in ("ok", "degraded") and "spooled" not in health:
                    break
            await asyncio.sleep(0.05)
    return time.monotonic() - began


async def _check(url: str, writers: Writers) -> None:
    """Check that each message belongs to one turn of its conversation, and to no other."""
    store = await open_store(url)
    found: dict[str, set[tuple[str, int | None]]] = defaultdict(set)
    for item in (await store.list(LOCAL, limit=1000)).items:
        entries, _ = await whole_log(store, LOCAL, item.id)
        ended: Counter[int | None] = Counter()
        for entry in entries:
            body = entry.body
            sent = body.message if isinstance(body, TurnChange) else body
            if isinstance(sent, Message) and sent.role is Role.USER:
                found[sent.content].add((item.id, entry.turn))
            if isinstance(body, TurnChange):
                ended[entry.turn] += not body.state.is_open
        assert {turn: ends for turn, ends in ended.items() if ends > 1} == {}
    assert {text for text, turns in found.items() if len(turns) != 1} == set()
    assert {text for text, id in writers.acknowledged.items() if {id} != {each for each, _ in found[text]}} == set()
    assert len((await store.list(LOCAL, limit=1000)).items) == WRITERS
    await store.close()


def _can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        is_mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=False, capture_output=True)
        if is_mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return is_mounted.returncode == 0


def play_kills(count: int, chance: random.Random) -> None:
    """Take the database away again and again, and kill the server at steps of the drain, also of the next one."""
    quick = ("cut", "silent", "half-open", "read-only", "full", "frozen")
    steps = [tuple(chance.randint(1, MOST_STEPS) for _ in range(chance.choice([1, 2]))) for _ in range(count)]
    faults = [
        Fault(chance.choice(quick), killed_at(*step) if chance.random() < MOSTLY else nothing_else) for step in steps
    ]
    with tempfile.TemporaryDirectory() as name:
        outcome = asyncio.run(play(faults, Path(name)))
    kills = sum(fault.happens.__name__.count(" killed") for fault in faults)
    story = f"{outcome.messages} messages acknowledged, {outcome.retried} sent again, {kills} kills in drains"
    print(f"{count} outages, {story}: each there once, no turn with two ends", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kills", type=int, default=0, help="so many outages in a row, with kills at steps of the drain"
    )
    parser.add_argument("--kind", choices=(*KINDS, *REAL_DISKS), action="append", help="only this; may be repeated")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    if arguments.kills:
        play_kills(arguments.kills, chance)
        return
    kinds = arguments.kind or [*KINDS, *(REAL_DISKS if _can_mount() else ())]
    if "full disk" not in kinds and not arguments.kind:
        print("No disk can be mounted here: a full one is only played, by a trigger.", flush=True)
    for number in range(arguments.count):
        happens = chance.choice([nothing_else, killed_in_outage, killed_in_drain])
        lasts = chance.choice([0.05, 1.0, 5.0, 20.0, 60.0])
        fault = Fault(chance.choice(kinds), happens, lasts)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if fault.kind == "failover":
                played = play_failover(happens, folder, lasts)
            elif fault.kind in REAL_DISKS:
                played = play_full_disk(fault, folder)
            else:
                played = play([fault], folder)
            count, drained_in, _ = asyncio.run(played)
        story = f"{fault.kind} for {lasts:g} s, {happens.__name__}: {count} messages, each there once"
        print(f"{number}: {story}, drained in {drained_in:.1f} s", flush=True)
        assert drained_in < DRAINED_WITHIN, f"the spool took {drained_in:.1f} s to be empty"


if __name__ == "__main__":
    main()
