"""A primary that is killed or frozen beside its synchronous standby, while people talk over two instances and writers
write by a script: `python -m tests.acceptance.failover --runs 5 --seed 7`.

The standby is promoted some seconds later, as a supervisor would do it; nobody tells the instances. Then the old
primary comes back and still takes itself for the first. At the end everything that was acknowledged must be there once,
in order, and answered; what the old primary was asked to write must not have been acknowledged; and instances must have
taken messages again within `--bar` seconds.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

import httpx

from tests.acceptance.checker import Ack, Checker
from tests.acceptance.instances import LATER, THINKS_FOR, Instances
from tests.acceptance.writer import SHARED
from tests.browser.server import ROOT, Server
from tests.standby import Database, replicated
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreError
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new, say, texts_of

FOUND_OUT_AFTER = 2.0
"""Seconds until a supervisor has found out that the primary is gone, and promotes the standby."""
GOES_ON_FOR = 3.0
"""Seconds of talk before the fault, and with the old primary back."""
ASKS_EVERY = 0.05
FAULTS = ("killed", "frozen")


class Place(NamedTuple):
    """The URLs of one database: with both hosts, and with each alone."""

    both: str
    old: str
    new: str


class Pair(NamedTuple):
    """A primary, its standby, and two databases: instances would take up the turns of writers by the script."""

    primary: Database
    standby: Database
    talked: Place
    written: Place


@contextmanager
def pair() -> Iterator[Pair]:
    """Run a primary and its synchronous standby."""
    with replicated() as (primary, standby, server):
        places = []
        for _ in range(2):
            old = server.fresh_database().server
            url = urlsplit(old)
            both = url._replace(netloc=f"{url.netloc},127.0.0.1:{standby.port}").geturl()
            places.append(Place(both, old, standby.at(old)))
        yield Pair(primary, standby, *places)


class Failover(Instances):
    """Instances whose database fails over once, and what was seen of it."""

    variables: ClassVar = {"THINKS_FOR": THINKS_FOR}

    def __init__(self, pair: Pair, folder: Path, *, fault: str, seed: int) -> None:
        super().__init__(pair.talked.both, folder, count=2, seed=seed)
        self._pair, self._fault = pair, fault
        self.back_after: list[float] = []
        self.broken: list[str] = []

    async def _disturb(self, server: Server, faults: int, is_over: asyncio.Event) -> None:
        if server is not self.servers[0]:
            return
        await asyncio.sleep(GOES_ON_FOR)
        began = time.monotonic()
        await asyncio.to_thread(self._pair.primary.kill if self._fault == "killed" else self._pair.primary.freeze)
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(self._taken(server)) for server in self.servers]
            await asyncio.sleep(FOUND_OUT_AFTER)
            await asyncio.to_thread(self._pair.standby.promote)
        self.back_after = [each.result() - began for each in waiting]
        await asyncio.to_thread(self._pair.primary.start if self._fault == "killed" else self._pair.primary.thaw)
        await self._try_the_old_primary()
        await asyncio.sleep(GOES_ON_FOR)
        is_over.set()

    async def _taken(self, server: Server) -> float:
        """Return when an instance has taken a message again."""
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
            while True:
                await asyncio.sleep(ASKS_EVERY)
                with suppress(httpx.TransportError):
                    # No key: it is a new conversation each time, and a trial that failed may have made one.
                    answer = await client.post("/v1/conversations", json={"title": "trial"})
                    if answer.status_code not in LATER:
                        answer.raise_for_status()
                        return time.monotonic()

    async def _try_the_old_primary(self) -> None:
        """Write to it past the instances, and with both hosts, the old one first, as an instance that starts now."""
        old = await open_store(f"{self._pair.talked.old}?pool_size=2")
        try:
            await new(old, LOCAL, "lost")
            self.broken.append("the old primary has acknowledged a message")
        except StoreError:
            pass
        finally:
            await old.close()
        fresh = await open_store(self._pair.talked.both)
        try:
            name = await new(fresh, LOCAL, "kept")
            await say(fresh, name, "and kept", scope=LOCAL)
        finally:
            await fresh.close()
        there = await open_store(self._pair.talked.new)
        try:
            if texts_of(await there.newest(LOCAL, name)) != ["kept", "and kept"]:
                self.broken.append("an instance that starts now does not write to the new primary")
        finally:
            await there.close()


class Scripted:
    """Writers by the script, in a process of their own that ends with the first error that reaches them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._acks: list[Ack] = []
        self._names: list[str] = []
        self._ready = 0

    async def run(self, talking: "asyncio.Task[object]") -> None:
        """Begin to write again whenever the writers have ended, as long as there is talk."""
        store = await open_store(self._place.both)
        await store.create(LOCAL, NewConversation(id=SHARED))
        await store.close()
        while not talking.done():
            names = [f"life{self._ready}-{len(self._names)}-{number}" for number in range(4)]
            self._names += names
            command = [sys.executable, "-m", "tests.acceptance.writer", self._place.both, *names]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                reading = asyncio.create_task(asyncio.to_thread(self._read, process))
                await asyncio.wait((reading, talking), return_when=asyncio.FIRST_COMPLETED)
                process.kill()
                await reading

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line) if line.endswith(b"\n") else {}
            self._ready += "ready" in told
            self._acks += [told] if "step" in told else []

    @property
    def steps(self) -> int:
        """How many steps were acknowledged."""
        return len(self._acks)

    async def violations(self) -> list[str]:
        """Return what the checker finds on the new primary."""
        store = await open_store(self._place.new)
        checker = Checker(store, self._acks)
        for name in self._names:
            was_created = any(ack["conversation"] == name for ack in self._acks)
            await checker.check(name, was_created=was_created)
        await checker.check_shared(0)
        await store.close()
        return checker.violations


class Outcome(NamedTuple):
    """What came of one failover."""

    violations: list[str]
    back_after: float
    messages: int
    steps: int


async def fail_over(pair: Pair, folder: Path, *, fault: str, seed: int, conversations: int) -> Outcome:
    """Let the primary of a pair fail under load and return what came of it."""
    instances, scripted = Failover(pair, folder, fault=fault, seed=seed), Scripted(pair.written)
    talking = asyncio.create_task(instances.run(conversations=conversations, faults=1))
    await scripted.run(talking)
    talks = await talking
    there = Instances(pair.talked.new, folder, count=0, seed=0)
    violations = [*instances.broken, *await there.violations(talks), *await scripted.violations()]
    messages = sum(len(talk.acknowledged) for talk in talks)
    return Outcome(violations, max(instances.back_after), messages, scripted.steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how often the primary is killed, and how often frozen")
    parser.add_argument("--conversations", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bar", type=float, default=15.0, help="seconds until messages must be taken again")
    chosen = parser.parse_args()
    status = 0
    for number in range(chosen.runs):
        for fault in FAULTS:
            with pair() as both, tempfile.TemporaryDirectory(prefix="threadkeep-failover-") as folder:
                how = {"fault": fault, "seed": chosen.seed + number, "conversations": chosen.conversations}
                told = asyncio.run(fail_over(both, Path(folder), **how))
            for violation in told.violations:
                print(f"BROKEN: {violation}")
            is_late = told.back_after > chosen.bar
            verdict = "a promise was broken" if told.violations else "nothing lost, nothing twice"
            print(
                f"primary {fault}: messages are taken again after {told.back_after:.1f} s{', too late' * is_late}; "
                f"{told.messages} messages and {told.steps} steps acknowledged: {verdict}",
                flush=True,
            )
            status |= bool(told.violations) or is_late
    return status


if __name__ == "__main__":
    sys.exit(main())
