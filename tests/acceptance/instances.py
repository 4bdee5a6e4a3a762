"""Several instances on one PostgreSQL behind a proxy that takes them in turn, killed and frozen while people talk.

`python -m tests.acceptance.instances --faults 200 --instances 2 --seed 7` runs it for longer, and with `--instances 1
--workers 3 --store sqlite` the workers of one server are killed. Every message carries
an idempotency key and is sent until it is acknowledged, sometimes several times at once; connections are cut; every
conversation has a reader who comes back to its stream. Half of the messages are followed by the next one at once, which
another instance queues before the answer to the first has begun. At the end everything that was acknowledged must be
there once, in order, answered, and told to the reader without gap or repeat.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import httpx

from tests.acceptance.proxy import CuttingProxy
from tests.acceptance.stream_reader import Reader
from tests.acceptance.torture import place_of
from tests.browser.server import Server
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.stores import whole_log

ANSWERED_WITHIN = 5.0
PACE, THINKS_FOR = 0.1, "0.5"
"""Seconds for a word of an answer, and before the first one: then the next message is queued."""
SILENT_FOR = 20.0
"""A stream says something every 15 seconds; one that does not is left for another instance."""
AWAY_FOR = (0.2, 2.0)
"""How long an instance is frozen, or gone before it is started again."""
LEASE_SECONDS = "3"
TAKEN_UP_AFTER = 6.0
"""As long is every third one away: more than a lease and the pause between two checks for those that have run out."""
CUT = 0.1
"""How many of the requests have some connection cut."""
AT_ONCE = (1, 1, 1, 2, 5)
"""How often a client sends the same thing at the same time."""
LATER = (429, 503)
"""What an instance answers that has too much to do, or no database, for now. Never 500."""
ENDED_WITHIN = 300.0
VARIABLES = {"THINKS_FOR": THINKS_FOR, "THREADKEEP_LEASE_SECONDS": LEASE_SECONDS}
QUESTION = "My name is Alice {}."


class RoundRobin(CuttingProxy):
    """Passes each connection on to the next of several servers that takes it."""

    def __init__(self, servers: Sequence[Server]) -> None:
        super().__init__(servers[0].url)
        self._ports = [urlsplit(server.url).port for server in servers]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the server whose turn it is, or to the next one that is there."""
        for _ in self._ports:
            self._ports.append(self._ports.pop(0))
            with suppress(ConnectionError):
                return await asyncio.open_connection("127.0.0.1", self._ports[0])
        return await asyncio.open_connection("127.0.0.1", self._ports[0])


@dataclass
class Talk:
    """One conversation, as its client knows it."""

    path: str
    acknowledged: list[str] = field(default_factory=list)
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Reader(self.path, turns=sys.maxsize)


class Instances:
    """Some servers, those who talk to them, and whoever kills and freezes them."""

    variables: ClassVar = VARIABLES

    def __init__(self, store: str, folder: Path, *, count: int, seed: int, workers: int = 1) -> None:
        self._store = store
        self._chance = random.Random(seed)
        # A database allows 100 connections by default, those of killed servers among them for a while.
        url = f"{store}{'&' if '?' in store else '?'}pool_size=10" if store.startswith("postgres") else store
        more = ("--store", url, "--workers", str(workers))
        self.servers = [
            Server(folder / str(number), *more, pace=PACE, variables=self.variables) for number in range(count)
        ]
        self.is_in_parts = workers > 1
        self.kills = self.freezes = 0
        self._calm = asyncio.Lock()

    async def run(self, *, conversations: int, faults: int) -> list[Talk]:
        """Talk in so many conversations until so many instances were killed or frozen, then let every turn end; return
        what the clients know."""
        for server in self.servers:
            server.folder.mkdir()
            await asyncio.to_thread(server.start)
        try:
            self._proxy = proxy = RoundRobin(self.servers)
            listening = await asyncio.start_server(proxy.begin, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            async with listening, httpx.AsyncClient(base_url=url, timeout=ANSWERED_WITHIN) as client:
                try:
                    return await self._talk(client, conversations, faults)
                finally:
                    await proxy.close()
        finally:
            for server in self.servers:
                await asyncio.to_thread(server.kill)

    async def _talk(self, client: httpx.AsyncClient, conversations: int, faults: int) -> list[Talk]:
        is_over = asyncio.Event()
        talks = await asyncio.gather(*(self._begun(client, number) for number in range(conversations)))
        async with asyncio.TaskGroup() as tasks:
            for server in self.servers:
                tasks.create_task(self._disturb(server, faults, is_over))
            reading = [tasks.create_task(self._read(client, talk)) for talk in talks]
            sending = [tasks.create_task(self._send(client, talk, is_over)) for talk in talks]
            await asyncio.gather(*sending)
            for talk, task in zip(talks, reading, strict=True):
                talk.reader.turns = len(talk.acknowledged)
                if talk.reader.is_done:
                    task.cancel()  # it waits for an event that does not come
            async with asyncio.timeout(ENDED_WITHIN):
                await asyncio.wait(reading)
        return list(talks)

    async def _begun(self, client: httpx.AsyncClient, number: int) -> Talk:
        body = {"title": f"Talk {number}", "assistant": "chat"}
        answer = await self._posted(client, "/v1/conversations", body, f"begin {number}")
        return Talk(answer.headers["location"])

    async def _send(self, client: httpx.AsyncClient, talk: Talk, is_over: asyncio.Event) -> None:
        """Send messages, each until it is acknowledged; the next one mostly before the answer has ended, often before
        it has begun, but not before the answer to the one before it."""
        while not is_over.is_set():
            content = QUESTION.format(len(talk.acknowledged))
            await self._posted(client, f"{talk.path}/messages", {"content": content}, content)
            talk.acknowledged.append(content)
            await asyncio.sleep(self._chance.choice((0, self._chance.uniform(1, 8))))
            while talk.reader.ended < len(talk.acknowledged) - 1:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.1)

    async def _posted(self, client: httpx.AsyncClient, path: str, body: dict[str, str], key: str) -> httpx.Response:
        """Send something, sometimes several times at once and sometimes cut off, until an instance has taken it."""
        # Each request goes to the next instance, as the connection is not kept.
        headers = {"Idempotency-Key": key, "Prefer": "respond-async", "Connection": "close"}

        async def once() -> httpx.Response | None:
            with suppress(httpx.TransportError):
                answer = await client.post(path, json=body, headers=headers)
                return answer.raise_for_status() if answer.status_code not in LATER else None
            return None

        while True:
            if self._chance.random() < CUT:
                self._proxy.cut_after.append(self._chance.randint(1, 2000))
            answers = await asyncio.gather(*(once() for _ in range(self._chance.choice(AT_ONCE))))
            if taken := [answer for answer in answers if answer is not None]:
                return taken[0]
            await asyncio.sleep(self._chance.uniform(0, 0.5))

    async def _read(self, client: httpx.AsyncClient, talk: Talk) -> None:
        async with httpx.AsyncClient(base_url=client.base_url, timeout=SILENT_FOR) as own:
            while not talk.reader.is_done:
                with suppress(AssertionError):  # an instance that has no answer now, which another one has
                    await talk.reader.read(own)
                await asyncio.sleep(self._chance.uniform(0, 0.5))

    async def _disturb(self, server: Server, faults: int, is_over: asyncio.Event) -> None:
        """Kill or freeze an instance every few seconds, whatever happens to the others; of one with workers, a part."""
        while self.is_in_parts and self.kills < faults:
            await asyncio.sleep(self._chance.uniform(1, 4))
            self.kills += 1
            self._kill_a_part(server)
        while self.kills + self.freezes < faults:
            await asyncio.sleep(self._chance.uniform(0, 6))
            is_killed = self.kills <= self.freezes
            async with self._calm:
                if is_killed:
                    self.kills += 1
                    await asyncio.to_thread(server.kill)
                else:
                    self.freezes += 1
                    server.freeze()
                if self._chance.random() < 1 / 3:
                    # Nothing happens to the others meanwhile: they have time to take up what it left.
                    await asyncio.sleep(TAKEN_UP_AFTER)
            await asyncio.sleep(self._chance.choice(AWAY_FOR))
            if is_killed:
                await asyncio.to_thread(server.start)
            else:
                server.thaw()
        is_over.set()

    def _kill_a_part(self, server: Server) -> None:
        """Kill a worker of a server that has several; it comes back by itself."""
        if workers := server.workers():
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)

    async def violations(self, talks: Sequence[Talk]) -> list[str]:
        """Name what was broken of the promises."""
        store = await open_store(self._store)
        try:
            return [f"{talk.path}: {each}" for talk in talks for each in await _violations(store, talk)]
        finally:
            await store.close()


async def _violations(store: Store, talk: Talk) -> list[str]:
    entries, draft = await whole_log(store, LOCAL, talk.path.rpartition("/")[2])
    messages = [entry.body for entry in entries if isinstance(entry.body, Message)]
    told = [data["message"] for name, data in talk.reader.told() if name == "message.completed"]
    ids = [message.id for message in messages]
    ended: set[int | None] = set()
    late, failed = [], []
    for entry in entries:
        if entry.turn in ended:
            late.append(entry.seq)
        if isinstance(entry.body, TurnChange) and not entry.body.state.is_open:
            ended.add(entry.turn)
            if entry.body.state is TurnState.FAILED:
                failed.append(entry.seq)
    holds = {
        "the log has a gap": [entry.seq for entry in entries] == list(range(1, len(entries) + 1)),
        "a message is lost, doubled or out of order": [m.content for m in messages if m.role == "user"]
        == talk.acknowledged,
        "a turn has not ended": draft is None and len(ended) == len(talk.acknowledged),
        "a message is there twice": len(set(ids)) == len(ids),
        f"turns that failed at {failed}": not failed,
        f"written after the end of their turn: {late}": not late,
        "the stream is not the log": [message["id"] for message in told] == ids,
    }
    broken = [what for what, is_so in holds.items() if not is_so]
    try:
        talk.reader.check()
    except AssertionError as gap:
        broken.append(f"the stream has a gap or a repeat: {gap}")
    return broken


async def _campaign(store: str, folder: Path, chosen: argparse.Namespace) -> int:
    instances = Instances(store, folder, count=chosen.instances, seed=chosen.seed, workers=chosen.workers)
    talks = await instances.run(conversations=chosen.conversations, faults=chosen.faults)
    violations = await instances.violations(talks)
    for violation in violations:
        print(f"BROKEN: {violation}")
    messages = sum(len(talk.acknowledged) for talk in talks)
    done = f"{instances.kills} killed, {instances.freezes} frozen, {messages} messages acknowledged"
    verdict = "a promise was broken" if violations else "nothing lost, nothing twice"
    print(f"{chosen.instances} instances, seed {chosen.seed}: {done}: {verdict}")
    return bool(violations)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--faults", type=int, default=50, help="how often an instance is killed or frozen")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="of each instance; then they are killed instead of it")
    parser.add_argument("--store", choices=["sqlite", "files", "postgresql"], default="postgresql")
    chosen = parser.parse_args()
    with place_of(chosen.store) as url, tempfile.TemporaryDirectory(prefix="threadkeep-instances-") as folder:
        return asyncio.run(_campaign(url, Path(folder), chosen))


if __name__ == "__main__":
    sys.exit(main())
