"""Kills processes that delete what is kept no longer, erase a person, or take a file and a message that uses it:
`python -m tests.acceptance.torture_keeping`.

With `--every` each moment is hit once: the process dies by its own hand, with SIGKILL, before and after every step that
the store takes, until one survives. Otherwise it is killed at random moments. Each round has a tenant of its own; the
next process finishes, and then nothing may be left, too much gone, or done twice. Ends with 1 if a promise was broken.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from tests.acceptance.child import fork, in_child
from tests.acceptance.torture import Told, torture
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound, UploadNotFound
from threadkeep.retention.erasure import BEGUN, COMPLETED, Erasure
from threadkeep.retention.holds import Holds
from threadkeep.retention.rules import Retention
from threadkeep.retention.run import CLAIMED_FOR, RetentionRunner
from threadkeep.runtime import open_store, open_unanswered
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import Wanted
from threadkeep.store.base import Store
from threadkeep.store.file_tables import CHUNK, FileTables, FileUsage
from threadkeep.store.values import Append
from threadkeep.testing.samples import key

STEPS = {
    "sqlite": ("threadkeep.store.sqlite.writer", "Writer", "run"),
    "postgresql": ("threadkeep_postgres.pool", "Pool", "call"),
    "files": ("threadkeep.store.sqlite.writer", "Writer", "run"),
}
"""What every write of a store passes through."""
KINDS = ("retention", "erasure", "upload", "resumed")
AGES = {"old": (Status.COMPLETED, 200), "held": (Status.COMPLETED, 200), "idle": (None, 40), "new": (None, 0)}
"""The conversations of a person: what became of them, and how many days ago somebody used them last."""

DATA = bytes(range(251)) * (CHUNK // 250)
"""A file of more than one chunk."""


class Round:
    """A tenant with two people, of whom one has a name and words that nobody else has."""

    def __init__(self, url: str, kind: str, number: int) -> None:
        self._url = url
        self._kind = kind
        self.word, name = f"canary{kind}{number}x", f"person{kind}{number}x"
        self._tenant = f"{kind}-{number}"
        self._person = Scope(tenant=self._tenant, user=name)
        self._neighbour = Scope(tenant=self._tenant, user="bob")
        self.violations: list[str] = []

    async def act(self, out: int, moment: int) -> None:
        """Fill the tenant, say so, and delete what is due or erase the person, up to that moment (0: all of it)."""
        pass_moment = _count_steps(self._url)
        store = await open_store(self._url)
        await self._fill(store)
        os.write(out, b"filled\n")
        pass_moment(moment)
        if self._kind == "retention":
            await RetentionRunner(store, Retention(), utc_now, new_id).run(self._tenant)
        else:
            await Erasure(store, None, utc_now, _stop).erase(self._person)
        os.write(out, b"survived\n")

    async def _fill(self, store: Store) -> None:
        await (await open_unanswered(store)).admin.create_key(self._person, KeyRole.USER)
        for scope, names in ((self._person, AGES), (self._neighbour, {"bobs": (None, 0)})):
            for name, (status, days) in names.items():
                id, word = f"{self._tenant}-{name}", self.word if scope == self._person else "hello"
                await store.create(scope, NewConversation(id=id))
                said = Message(role=Role.USER, content=f"say {word}")
                await store.append(scope, id, Append(bodies=(said,)))
                then = utc_now() - timedelta(days=days)
                await store.update(scope, id, Update(title=word, status=status), at=then)
        if self._kind == "retention":
            held = f"{self._tenant}-held"
            await Holds(store, utc_now, new_id).add(self._tenant, conversation=held, reason="case 7")

    async def finish_and_check(self) -> None:
        """Do what the next process does, and look."""
        store = await open_store(self._url)
        if self._kind == "retention":
            # The claim of who died is in force for a while.
            await RetentionRunner(store, Retention(), lambda: utc_now() + CLAIMED_FOR, new_id).run(self._tenant)
            await self._check_retention(store)
        else:
            await self._check_erasure(store)
        bobs = [item.id for item in (await store.list(self._neighbour)).items]
        self._expect(bobs == [f"{self._tenant}-bobs"], f"the neighbour has {bobs}")
        breaks = (await store.audit.verify(self._tenant)).breaks
        self._expect(not breaks, f"the audit log is damaged: {breaks}")
        await store.close()

    async def _check_retention(self, store: Store) -> None:
        found = {item.id.rpartition("-")[2]: item.status for item in (await store.list(self._person)).items}
        wanted = {"held": Status.COMPLETED, "idle": Status.ABANDONED, "new": Status.ACTIVE}
        self._expect(found == wanted, f"there is {found}")
        wanted_acts = Wanted(actions=("conversation.deleted", "conversation.status"))
        acts = [record.act for record in await store.audit.read(self._tenant, wanted_acts)]
        told = Counter(act.object.rpartition("-")[2] for act in acts if act.details.get("status") != "completed")
        self._expect(told == {"old": 1, "idle": 1}, f"on record is {told}")

    async def _check_erasure(self, store: Store) -> None:
        erasure = Erasure(store, None, utc_now, _stop)
        acts = await store.audit.read(self._tenant, Wanted(actions=(BEGUN,)))
        if not acts:
            left = len((await store.list(self._person)).items)
            self._expect(left == len(AGES), f"an erasure that never began left {left} conversations")
            await erasure.erase(self._person)
        await erasure.resume()
        told = await store.audit.read(self._tenant, Wanted(actions=(BEGUN, COMPLETED)))
        self._expect(told[-1].act.action == COMPLETED, "no end of the erasure is on record")
        counted = told[-1].act.details.get("conversations")
        self._expect(counted == len(AGES), f"{counted} conversations are on record as erased")
        self._expect(not (await store.list(self._person)).items, "conversations are left")
        keys = [key for key in await store.keyring.all(self._tenant) if key.scope == self._person]
        self._expect(not keys, "keys are left")
        for name in AGES:
            try:
                await store.restore(self._person, f"{self._tenant}-{name}")
                self._expect(False, f"{name} can be restored")
            except ConversationNotFound:
                continue

    def check_bytes(self) -> None:
        """Look into every file, after all processes have ended."""
        scheme, _, place = self._url.partition("://")
        if self._kind == "erasure" and scheme != "postgresql":
            for path in (each for each in Path(place).parent.rglob("*") if each.is_file()):
                data = path.read_bytes()
                for word in (self.word, self._person.user):
                    self._expect(word.encode() not in data, f"{word} is in {path.name}")

    def _expect(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self.violations.append(f"{self._tenant}: {otherwise}")


class UploadRound(Round):
    """A person who uploads a file, in one go or in two pieces, sends it, and tries again after a kill."""

    async def act(self, out: int, moment: int) -> None:
        pass_moment = _count_steps(self._url)
        store = await open_store(self._url)
        await store.create(self._person, NewConversation(id=self.word))
        os.write(out, b"filled\n")
        pass_moment(moment)
        await self._send(store, Attachments(_tables(store), ids=lambda: self.word))
        os.write(out, b"survived\n")

    async def _send(self, store: Store, files: Attachments) -> None:
        if self._kind == "upload":
            file, _ = await files.receive(self._person, "a.bin", "", _pieces(DATA))
        else:
            try:
                upload = await files.upload(self._person, self.word)
            except UploadNotFound:
                upload = await files.begin(self._person, "a.bin")
            for end in (CHUNK // 2, len(DATA)):
                if upload.size < end:
                    upload = await files.append(self._person, upload.id, upload.size, _pieces(DATA[upload.size : end]))
            file, _ = await files.complete(self._person, upload.id)
        part = await files.find(self._person, file.id)
        said = Message(id="m", role=Role.USER, content="Look.", parts=(part,))
        await store.append(self._person, self.word, Append(bodies=(said,), key=key(self.word)))

    async def finish_and_check(self) -> None:
        """Try again, clean up, and look: the file and the message are there once, and nothing else."""
        store = await open_store(self._url)
        files = Attachments(_tables(store))
        await self._send(store, files)
        await files.remove_unused(self._tenant, timedelta(0))
        entries = await store.newest(self._person, self.word)
        self._expect(len(entries) == 1, f"there are {len(entries)} messages")
        (part,) = vars(entries[0].body)["parts"]
        self._expect(await files.read(self._person, part.file) == DATA, "the file has other bytes")
        for whose in ((self._tenant,), (self._tenant, self._person.user)):
            usage = await files.usage(*whose)
            self._expect(usage == FileUsage(1, len(DATA)), f"{whose} has {usage}")
        await store.close()


def _tables(store: Store) -> FileTables:
    assert store.files is not None
    return store.files


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 100_000):
        yield data[start : start + 100_000]


async def _stop(scope: Scope, conversation: str) -> None:
    """Nothing runs."""


def _count_steps(url: str) -> Callable[[int], None]:
    """Have this process count the steps of its store; return what says at which moment it dies."""
    module, owner, name = STEPS[url.partition(":")[0]]
    place = getattr(import_module(module), owner)
    step = getattr(place, name)
    left = 0

    def begin(moment: int) -> None:
        nonlocal left
        left = moment

    def pass_one() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def mortal(*args: Any, **options: Any) -> Any:
        pass_one()
        done = await step(*args, **options)
        pass_one()
        return done

    setattr(place, name, mortal)
    return begin


class Campaign:
    """Rounds of acting, dying, finishing and checking on one store."""

    def __init__(self, url: str, seed: int) -> None:
        self._url = url
        self._chance = random.Random(seed)
        self.kills = 0
        self.violations: list[str] = []

    def every_moment(self, kind: str) -> int:
        """Let a process die at each moment once; return how many moments there are."""
        for moment in count(1):
            if self._play(self._round(kind, moment), moment=moment) or self.violations:
                return moment - 1
        raise AssertionError("there is always a last moment")

    def at_random(self, kind: str, number: int) -> None:
        """Kill a process whenever it happens to be."""
        self._play(self._round(kind, number), after=self._chance.uniform(0.0, 0.15))

    def _round(self, kind: str, number: int) -> Round:
        return (Round if kind in ("retention", "erasure") else UploadRound)(self._url, kind, number)

    def _play(self, played: Round, *, moment: int = 0, after: float | None = None) -> bool:
        """Play a round; return whether the process survived it."""
        reader, out = os.pipe()
        child = fork(lambda: asyncio.run(played.act(out, moment)), reader)
        os.close(out)
        told = os.read(reader, 7)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        while piece := os.read(reader, 1000):
            told += piece
        os.close(reader)
        survived = b"survived" in told
        if not survived and status != signal.SIGKILL:
            raise RuntimeError(f"the process failed by itself: {status}")
        self.kills += not survived

        def check(out: int) -> None:
            asyncio.run(played.finish_and_check())
            played.check_bytes()
            os.write(out, json.dumps(played.violations).encode())

        self.violations += json.loads(in_child(check))
        return survived


def _run(url: str, chosen: argparse.Namespace) -> Told:
    import_module(STEPS[url.partition(":")[0]][0])
    campaign = Campaign(url, chosen.seed)
    if chosen.every:
        done = f"{sum(campaign.every_moment(kind) for kind in KINDS)} moments"
    else:
        for number in range(chosen.count):
            campaign.at_random(KINDS[number % len(KINDS)], number)
        done = f"seed {chosen.seed}"
    fine = "nothing left, nothing too much, nothing twice"
    return Told(f"keeping, {done}, {campaign.kills} killed", campaign.violations, fine)


if __name__ == "__main__":
    sys.exit(torture("torture_keeping", "Kill processes that delete, erase and upload.", _run))
