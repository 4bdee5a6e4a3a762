"""Real servers whose PostgreSQL is stopped, frozen or cut off while people write, killed during outage and drain:
`python -m tests.acceptance.outages --count 20 --seed 7`.

Whatever was acknowledged is in the database in the end, once, and the spool is empty within ten seconds after the
return. Ends with an error if a promise was broken.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.database_proxy import before
from tests.postgres_server import PostgresServer
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange
from threadkeep.runtime import open_store
from threadkeep.testing.stores import whole_log

PATIENCE = 60
DRAINED_WITHIN = 10
WRITERS = 6
PRESSED = 3
"""How many messages each writer has acknowledged before something happens."""


class Instance:
    """A server process with a spool, which can be killed and started anew at the same address."""

    def __init__(self, store: str, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    async def start(self) -> None:
        flags = ("--port", str(self.port), "--model", "demo", "--store", self._store, "--spool", str(self._folder))
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "threadkeep.cli.main", "serve", *flags),
            cwd=self._folder.parent,
            env={**os.environ, "THREADKEEP_LOG_LEVEL": "error", "THREADKEEP_OUTAGE_AFTER": "1"},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        self.port = int(line.split()[-1].rpartition(":")[2])

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Writers:
    """People who send one message after the other, each until it is acknowledged, with a key of its own."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._sent: dict[str, int] = {}
        self._is_over = False
        self.acknowledged: dict[str, str] = {}
        self.spooled = 0

    async def write(self, number: int) -> None:
        async with httpx.AsyncClient(timeout=20) as client:
            created = await self._insist(client, "/v1/conversations", {}, f"create {number}")
            path = f"/v1/conversations/{created['id']}/messages"
            while not self._is_over:
                text = f"message {self._sent.get(path, 0)} of {number}"
                answer = await self._insist(client, path, {"content": text}, text)
                self.acknowledged[text] = created["id"]
                self.spooled += answer["turn"]["spooled"]
                self._sent[path] = self._sent.get(path, 0) + 1

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
            assert answer.status_code >= 500, answer.text
            await asyncio.sleep(0.05)

    async def more(self, count: int = PRESSED) -> None:
        """Wait until everybody has so many more messages acknowledged."""
        wanted = len(self.acknowledged) + count * WRITERS
        async with asyncio.timeout(PATIENCE):
            while len(self.acknowledged) < wanted:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._is_over = True


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


async def _health(instance: Instance) -> dict[str, Any]:
    async with httpx.AsyncClient(timeout=10) as client:
        return dict((await client.get(f"{instance.url}/health/ready")).json())


@asynccontextmanager
async def _away(kind: str, server: PostgresServer, url: str) -> AsyncIterator[tuple[str, Call, Call]]:
    """Yield the URL to use, and what takes the database away and brings it back."""
    if kind == "stopped":
        yield url, server.stop, server.restart
    elif kind == "frozen":
        yield url, server.freeze, server.thaw
    else:
        async with before(url) as proxy:

            def cut() -> None:
                proxy.fall_silent()
                proxy.cut()

            yield proxy.url(), cut, proxy.speak


async def play(kind: str, happens: Happening, server: PostgresServer, folder: Path, lasts: float = 0) -> int:
    """Take the database away while people write, for so long at least; return how many messages were acknowledged."""
    url = server.fresh_database().server
    async with _away(kind, server, url) as (used, goes, returns):
        instance = Instance(used, folder / "spool")
        await instance.start()
        writers = Writers(instance)
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(WRITERS):
                    tasks.create_task(writers.write(number))
                await writers.more()
                goes()
                await asyncio.gather(writers.more(), asyncio.sleep(lasts))
                assert writers.spooled > 0
                await happens(instance, writers, returns)
                await _until_drained(instance)
                await writers.more(1)
                writers.stop()
            await _until_drained(instance)
            await _check(url, writers)
        finally:
            await instance.kill()
    return len(writers.acknowledged)


async def _until_drained(instance: Instance) -> None:
    async with asyncio.timeout(DRAINED_WITHIN):
        while (await _health(instance))["status"] != "ok":  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.05)


async def _check(url: str, writers: Writers) -> None:
    """Check that each message belongs to one turn of its conversation, and to no other."""
    store = await open_store(url)
    found: dict[str, set[tuple[str, int | None]]] = defaultdict(set)
    for item in (await store.list(LOCAL, limit=1000)).items:
        entries, _ = await whole_log(store, LOCAL, item.id)
        for entry in entries:
            body = entry.body
            sent = body.message if isinstance(body, TurnChange) else body
            if isinstance(sent, Message) and sent.role is Role.USER:
                found[sent.content].add((item.id, entry.turn))
    assert {text for text, turns in found.items() if len(turns) != 1} == set()
    assert {text for text, id in writers.acknowledged.items() if {id} != {each for each, _ in found[text]}} == set()
    assert len((await store.list(LOCAL, limit=1000)).items) == WRITERS
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    for number in range(arguments.count):
        kind = chance.choice(["stopped", "frozen", "cut"])
        happens = chance.choice([nothing_else, killed_in_outage, killed_in_drain])
        lasts = chance.choice([0.05, 1.0, 5.0, 20.0, 60.0])
        with PostgresServer.start(durable=False) as server, tempfile.TemporaryDirectory() as folder:
            count = asyncio.run(play(kind, happens, server, Path(folder), lasts))
        print(f"{number}: {kind} for {lasts:g} s, {happens.__name__}: {count} messages, each there once", flush=True)


if __name__ == "__main__":
    main()
