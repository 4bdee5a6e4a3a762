"""Several instances on one PostgreSQL behind a proxy that takes them in turn, killed and frozen while people talk.

`python -m tests.acceptance.instances --seconds 600 --seed 7` runs it for longer. Every message carries an idempotency
key and is sent until it is acknowledged, sometimes several times at once; connections are cut; every conversation has a
reader who comes back to its stream. At the end everything that was acknowledged must be there once, in order, answered,
and told to the reader without gap or repeat.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.acceptance.proxy import CuttingProxy
from tests.acceptance.stream_reader import Reader
from tests.acceptance.torture import place_of
from tests.browser.server import Server
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.stores import whole_log

ANSWERED_WITHIN = 5.0
SILENT_FOR = 20.0
"""A stream says something every 15 seconds; one that does not is left for another instance."""
LONGEST_FREEZE = 20.0
"""Longer than a lease of 10 seconds: a turn is taken up while its owner still believes that it is his."""
CUT = 0.1
"""How many of the requests have some connection cut."""
AT_ONCE = (1, 1, 1, 2, 5)
"""How often a client sends the same thing at the same time."""
LATER = (429, 503)
"""What an instance answers that has too much to do, or no database, for now. Never 500."""
ENDED_WITHIN = 300.0
QUESTION = "Tell me a story about {}."


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

    def __init__(self, store: str, folder: Path, *, count: int, seed: int) -> None:
        self._store = store
        self._chance = random.Random(seed)
        # A database allows 100 connections by default, those of killed servers among them for a while.
        url = f"{store}{'&' if '?' in store else '?'}pool_size=10"
        self.servers = [Server(folder / str(number), "--store", url, pace=0.01) for number in range(count)]
        self.kills = self.freezes = 0

    async def run(self, *, conversations: int, seconds: float) -> list[Talk]:
        """Talk in so many conversations for so long, then let every turn end; return what the clients know."""
        for server in self.servers:
            server.folder.mkdir()
            await asyncio.to_thread(server.start)
        try:
            self._proxy = proxy = RoundRobin(self.servers)
            listening = await asyncio.start_server(proxy.begin, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            async with listening, httpx.AsyncClient(base_url=url, timeout=ANSWERED_WITHIN) as client:
                try:
                    return await self._talk(client, conversations, seconds)
                finally:
                    await proxy.close()
        finally:
            for server in self.servers:
                await asyncio.to_thread(server.kill)

    async def _talk(self, client: httpx.AsyncClient, conversations: int, seconds: float) -> list[Talk]:
        is_over = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, is_over.set)
        talks = await asyncio.gather(*(self._begun(client, number) for number in range(conversations)))
        async with asyncio.TaskGroup() as tasks:
            for server in self.servers:
                tasks.create_task(self._disturb(server, is_over))
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
        """Send messages, each until it is acknowledged; the next one mostly before the answer has ended, but not
        before the answer to the one before it."""
        while not is_over.is_set():
            content = QUESTION.format(len(talk.acknowledged))
            await self._posted(client, f"{talk.path}/messages", {"content": content}, content)
            talk.acknowledged.append(content)
            await asyncio.sleep(self._chance.uniform(1, 8))
            while talk.reader.ended < len(talk.acknowledged) - 1:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.1)

    async def _posted(self, client: httpx.AsyncClient, path: str, body: dict[str, str], key: str) -> httpx.Response:
        """Send something, sometimes several times at once and sometimes cut off, until an instance has taken it."""
        headers = {"Idempotency-Key": key, "Prefer": "respond-async"}

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

    async def _disturb(self, server: Server, is_over: asyncio.Event) -> None:
        """Kill or freeze an instance every few seconds, whatever happens to the others."""
        while not is_over.is_set():
            await asyncio.sleep(self._chance.uniform(0, 6))
            if self._chance.random() < 0.5:
                self.kills += 1
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(self._chance.uniform(0, 2))
                await asyncio.to_thread(server.start)
            else:
                self.freezes += 1
                server.freeze()
                await asyncio.sleep(self._chance.choice((0.2, 2, LONGEST_FREEZE)))
                server.thaw()

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
    ended: set[int | None] = set()
    late = []
    for entry in entries:
        if entry.turn in ended:
            late.append(entry.seq)
        if isinstance(entry.body, TurnChange) and not entry.body.state.is_open:
            ended.add(entry.turn)
    holds = {
        "the log has a gap": [entry.seq for entry in entries] == list(range(1, len(entries) + 1)),
        "a message is lost, doubled or out of order": [m.content for m in messages if m.role == "user"]
        == talk.acknowledged,
        "a turn has not ended": draft is None and len(ended) == len(talk.acknowledged),
        f"written after the end of their turn: {late}": not late,
        "the stream is not the log": [message["id"] for message in told] == [message.id for message in messages],
    }
    broken = [what for what, is_so in holds.items() if not is_so]
    try:
        talk.reader.check()
    except AssertionError as gap:
        broken.append(f"the stream has a gap or a repeat: {gap}")
    return broken


async def _campaign(store: str, folder: Path, conversations: int, seconds: float, seed: int) -> int:
    instances = Instances(store, folder, count=3, seed=seed)
    talks = await instances.run(conversations=conversations, seconds=seconds)
    violations = await instances.violations(talks)
    for violation in violations:
        print(f"BROKEN: {violation}")
    messages = sum(len(talk.acknowledged) for talk in talks)
    done = f"{instances.kills} killed, {instances.freezes} frozen, {messages} messages acknowledged"
    print(
        f"3 instances, seed {seed}: {done}: {'a promise was broken' if violations else 'nothing lost, nothing twice'}"
    )
    return bool(violations)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with place_of("postgresql") as url, tempfile.TemporaryDirectory(prefix="threadkeep-instances-") as folder:
        return asyncio.run(_campaign(url, Path(folder), chosen.conversations, chosen.seconds, chosen.seed))


if __name__ == "__main__":
    sys.exit(main())
