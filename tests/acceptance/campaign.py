"""Kills writers at random moments, many times, on one store, and checks after each what is there.

Writer and checker are forked from this process, which has imported everything and never opens a store or starts a
thread itself, so that a round costs little more than the writing.
"""

import asyncio
import json
import os
import random
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.checker import Ack, Checker
from tests.acceptance.child import fork, in_child
from tests.acceptance.writer import SHARED, write_for_ever
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.paging import walk
from threadkeep.testing.stores import whole_log
from threadkeep_files import store as files_store

CONVERSATIONS = 4
PATIENCE = 60.0


@dataclass
class Tally:
    """What a campaign saw."""

    rounds: int = 0
    steps: int = 0
    shared: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


class Campaign:
    """Rounds of writing, killing and checking on the store behind a URL."""

    def __init__(self, url: str, seed: int) -> None:
        self._url = url
        self._chance = random.Random(seed)
        self.tally = Tally()

    def run(self, count: int, tell: Callable[[Tally], None] = lambda tally: None) -> Tally:
        """Kill `count` writers; stop at the first round that breaks a promise."""
        in_child(lambda out: asyncio.run(_prepare(self._url)))
        for _ in range(count):
            self._round()
            tell(self.tally)
            if self.tally.violations:
                return self.tally
        answer = json.loads(in_child(lambda out: asyncio.run(_check_all(self._url, self.tally, out))))
        self.tally.violations += answer
        return self.tally

    def _round(self) -> None:
        names = [f"round{self.tally.rounds}-c{number}" for number in range(CONVERSATIONS)]
        lines = self._write_and_kill(names)
        acks = [line for line in lines if "step" in line]
        was_created = any("ready" in line for line in lines)
        shared = self.tally.shared

        def check(out: int) -> None:
            asyncio.run(_check(self._url, names, acks, was_created, shared, out))

        answer = json.loads(in_child(check))
        self.tally.rounds += 1
        self.tally.steps += len(acks)
        self.tally.shared = answer["shared"]
        self.tally.kept |= answer["kept"]
        self.tally.violations += [f"round {self.tally.rounds}: {what}" for what in answer["violations"]]

    def _write_and_kill(self, names: list[str]) -> list[Ack]:
        """Let a writer write, kill it at a random moment, and return every line that it had told.

        The moment is some time after some number of steps, so that a slow machine is not tested less; one writer in
        ten is killed while it opens the store.
        """
        steps = 0 if self._chance.random() < 0.1 else self._chance.randint(1, 60)
        moment = self._chance.uniform(0.0, 0.005 if steps else 0.06)
        reader, out = os.pipe()
        writer = fork(lambda: _write(self._url, names, out), reader)
        os.close(out)
        told = b""
        until = time.monotonic() + (PATIENCE if steps else moment)
        while (left := until - time.monotonic()) > 0:
            if not select.select([reader], [], [], left)[0]:
                break
            piece = os.read(reader, 65536)
            if not piece:
                raise RuntimeError("the writer ended by itself")
            if steps and told.count(b"\n") < steps <= told.count(b"\n") + piece.count(b"\n"):
                until = time.monotonic() + moment
            told += piece
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        while piece := os.read(reader, 65536):
            told += piece
        os.close(reader)
        return [json.loads(line) for line in told.splitlines()]


def _write(url: str, names: list[str], out: int) -> None:
    # Views are written at once, so that writers are killed in the middle of that too.
    files_store.VIEW_SECONDS = 0.0
    asyncio.run(write_for_ever(url, names, out))


async def _prepare(url: str) -> None:
    store = await open_store(url)
    await store.create(LOCAL, NewConversation(id=SHARED))
    await store.close()


async def _check(url: str, names: list[str], acks: list[Ack], was_created: bool, shared: int, out: int) -> None:
    half_written = [f"{name} is half written" for name, texts in views(url).items() if texts is None]
    store = await open_store(url)
    checker = Checker(store, acks)
    for name in names:
        await checker.check(name, was_created=was_created)
    end = await checker.check_shared(shared)
    await store.operations.ping()
    stored = {name: await _texts(store, name) for name in (*checker.kept, SHARED)}
    await store.close()
    shown = views(url)
    differing = [f"the view of {name} differs" for name, texts in stored.items() if shown and shown.get(name) != texts]
    answer = {"violations": [*half_written, *differing, *checker.violations][:20], "shared": end, "kept": checker.kept}
    os.write(out, json.dumps(answer).encode())


def views(url: str) -> dict[str, list[str] | None]:
    """Return the texts in the readable files of a folder of conversations; none for a file that is not whole."""
    scheme, _, folder = url.partition(":///")
    found: dict[str, list[str] | None] = {}
    for path in Path(folder).glob("*.json") if scheme == "files" else ():
        try:
            found[path.stem] = [message["content"] for message in json.loads(path.read_bytes())["messages"]]
        except ValueError:
            found[path.stem] = None
    return found


async def _texts(store: Store, name: str) -> list[str]:
    """Return the texts that the view of a conversation shows."""
    said = [entry.body async for entry in walk(store, LOCAL, name) if isinstance(entry.body, Message)]
    return [message.content for message in said if message.role is not Role.TOOL and message.content]


async def _check_all(url: str, tally: Tally, out: int) -> None:
    """Look once more at the whole store: later crashes must not have harmed what earlier rounds left."""
    store = await open_store(url)
    violations = []
    for name, count in {**tally.kept, SHARED: tally.shared}.items():
        entries, draft = await whole_log(store, LOCAL, name)
        if [entry.seq for entry in entries] != list(range(1, count + 1)) or draft is not None:
            violations.append(f"{name}: changed since it was checked")
    await store.close()
    os.write(out, json.dumps(violations[:20]).encode())
