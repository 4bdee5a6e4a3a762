"""Several people of one tenant whose database goes away again and again: they send, send again with their keys, queue
messages, try conversations of others, and are erased, while the process that keeps their messages dies at a step of
draining them: `python -m tests.acceptance.outage_people --count 100 --seed 7`.

The process is played: at the step its folder is copied as it is, and the next one goes on with the copy.
"""

import argparse
import asyncio
import random
import shutil
import tempfile
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from tests.database_proxy import DatabaseProxy, before
from tests.postgres_server import PostgresServer
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.errors import ConversationNotFound, LeaseLost, StoreUnavailable
from threadkeep.hosting import SpoolSettings
from threadkeep.retention.erasure import Erasure
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Begin
from threadkeep.testing.samples import MINUTE, answered, asked, settle
from threadkeep.testing.stores import whole_log
from threadkeep_postgres.spool.opening import open_spooling_store
from threadkeep_postgres.spool.spooling import SpoolingStore

PEOPLE = [Scope(tenant="acme", user=f"person-{number}") for number in range(5)]
STEPS = ("get", "create", "log", "turns", "made_by", "adopt")
MOST_STEPS = 40
CUT = 0.3
PATIENCE = 60


class Instance:
    """A store with a spool that dies at a step of its drain; `deaths` counts how often one did."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folders = (folder / str(number) for number in count())
        self._folder = next(self._folders)
        self.deaths = 0
        self.is_dead = False
        self.store: SpoolingStore

    async def start(self, dies_at: int = 0) -> None:
        limits = SpoolSettings(folder=self._folder, patience=0.7)
        self.store, self.is_dead = await open_spooling_store(self._url, limits), False
        if dies_at:
            self._watch(dies_at)

    def _watch(self, dies_at: int) -> None:
        steps = count(1)

        def step() -> None:
            if self.is_dead or next(steps) >= dies_at:
                if not self.is_dead:
                    copied = next(self._folders)
                    shutil.copytree(self._folder, copied)
                    self._folder, self.is_dead = copied, True
                    self.deaths += 1
                raise StoreUnavailable("dead")

        def watched(verb: Any) -> Any:
            async def watch(*args: Any, **kwargs: Any) -> Any:
                if not self._drains():
                    return await verb(*args, **kwargs)
                step()
                answer = await verb(*args, **kwargs)
                step()
                return answer

            return watch

        for name in STEPS:
            setattr(self.store.database, name, watched(getattr(self.store.database, name)))
        self.store.spool.remove = watched(self.store.spool.remove)  # type: ignore[method-assign]

    def _drains(self) -> bool:
        return any(copy.lock.locked() for copy in self.store.spool.held.values())

    async def rise(self, dies_at: int = 0) -> None:
        """Start the next process with what the last one left."""
        await self.store.close()
        await self.start(dies_at)


class Campaign:
    """What people sent and what was acknowledged, by their texts."""

    def __init__(self, instance: Instance, other: Store, chance: random.Random) -> None:
        self._instance = instance
        self._other = other
        self._chance = chance
        self._numbers = count()
        self._rooms: dict[Scope, list[str]] = defaultdict(list)
        self.acknowledged: dict[str, tuple[Scope, str]] = {}
        self.answers: set[str] = set()
        self.foreign: dict[str, Scope] = {}
        self.erased: set[str] = set()
        self.counts: Counter[str] = Counter()

    async def room(self, who: Scope) -> str:
        """Return a conversation of somebody, perhaps a new one."""
        if not self._rooms[who] or self._chance.random() < 0.1:
            self._rooms[who].append((await self._instance.store.create(who, NewConversation())).conversation.id)
        return self._chance.choice(self._rooms[who][-3:])

    async def send(self, store: Store, who: Scope, room: str, text: str | None = None) -> Lease | None:
        """Send a message, or one once more; it is acknowledged when this returns."""
        again = text is not None
        text = text or f"message {next(self._numbers)} of {who.user}"
        key = IdempotencyKey.of(f"send {room}", text, text)
        begin = Begin(message=asked(text), owner="one", lease_for=MINUTE, key=key)
        begun = await store.begin(who, room, begin)
        assert not (again and begun.lease), f"{text} is asked a second time"
        self.acknowledged[text] = (who, room)
        if begun.lease is not None:
            self.answers.add(f"answer to {text}")
        return begun.lease

    async def answer(self, lease: Lease | None, text: str | None = None) -> None:
        """Answer a turn that runs here, in pieces, and what is queued behind it."""
        while lease is not None:
            sent = text or await self._question(lease)
            message = answered(f"answer to {sent}")
            self.answers.add(message.content)
            with suppress(LeaseLost):
                await self._instance.store.write(lease, message.id, 0, message.content[:5])
                await settle(self._instance.store, lease, message)
            begun = await self._instance.store.start(lease.scope, lease.conversation, "one", MINUTE)
            lease, text = (begun.lease if begun else None), None

    async def _question(self, lease: Lease) -> str:
        entries, _ = await whole_log(self._instance.store, lease.scope, lease.conversation)
        said = [each.body for each in entries if each.turn == lease.turn and isinstance(each.body, Message)]
        return next(message.content for message in said if message.role is Role.USER)

    async def bustle(self, times: int) -> None:
        """Let people do something."""
        store = self._instance.store
        for _ in range(times):
            who = self._chance.choice(PEOPLE)
            room = await self.room(who)
            match self._chance.choice(("send", "send", "queue", "again", "foreign")):
                case "send":
                    await self.answer(await self.send(store, who, room))
                case "queue":
                    lease = await self.send(store, who, room)
                    await self.send(store, who, room)
                    self.counts["queued"] += 1
                    await self.answer(lease)
                case "again":
                    known = [text for text, place in self.acknowledged.items() if place == (who, room)]
                    if known:
                        self.counts["sent again"] += 1
                        await self.send(store, who, room, self._chance.choice(known[-10:]))
                case "foreign":
                    await self.intrude(who, room)

    async def intrude(self, owner: Scope, room: str) -> None:
        """Let somebody else send to a conversation."""
        stranger = self._chance.choice([who for who in PEOPLE if who != owner])
        text = f"intrusion {next(self._numbers)}"
        begin = Begin(message=asked(text), owner="one", lease_for=MINUTE)
        self.counts["foreign"] += 1
        with suppress(ConversationNotFound, StoreUnavailable):
            begun = await self._instance.store.begin(stranger, room, begin)
            assert begun.lease is None
            self.foreign[text] = stranger

    async def erase(self) -> None:
        """Erase somebody through an instance that reaches the database."""
        who = self._chance.choice(PEOPLE)

        async def nothing_runs(scope: Scope, conversation: str) -> None:
            return

        await Erasure(self._other, None, utc_now, nothing_runs).erase(who)
        self.counts["erased"] += 1
        gone = {text for text, (owner, _) in self.acknowledged.items() if owner == who}
        for text in gone:
            del self.acknowledged[text]
        gone |= {text for text, stranger in self.foreign.items() if stranger == who}
        self.erased |= gone | {f"answer to {text}" for text in gone}
        self.answers -= self.erased
        self._rooms.pop(who, None)

    async def well(self) -> None:
        """Wait until everything is in the database, and answer what waited for it."""
        async with asyncio.timeout(PATIENCE):
            while not self._instance.is_dead and self._instance.store.operations.outage() is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def catch_up(self) -> None:
        """Answer what waited for the database, or was left there by a process that died."""
        store = self._instance.store
        while turns := await store.operations.expired(timedelta(0)):
            for turn in turns:
                begun = None
                with suppress(LeaseLost):
                    if turn.owner is None and turn.state == "queued":
                        begun = await store.start(turn.scope, turn.conversation, "one", MINUTE)
                        lease = begun.lease if begun else None
                    else:
                        lease = await store.take(turn, "one", MINUTE)
                        lease = await self._cut_off(lease)
                    await self.answer(lease)

    async def _cut_off(self, lease: Lease) -> Lease:
        """Keep what was written of an answer."""
        _, draft = await whole_log(self._instance.store, lease.scope, lease.conversation)
        if draft is not None:
            cut = answered(draft.text).model_copy(update={"id": draft.message})
            await settle(self._instance.store, lease, cut)
            raise LeaseLost
        return lease

    async def check(self) -> None:
        """Check that everything is there once, where it belongs, and nothing of those who were erased."""
        found: dict[str, set[tuple[Scope, str, int | None]]] = defaultdict(set)
        for item in (await self._other.list("acme", limit=1000)).items:
            ends: Counter[int | None] = Counter()
            for entry in (await whole_log(self._other, item.scope, item.id))[0]:
                sent = entry.body.message if isinstance(entry.body, TurnChange) else entry.body
                if isinstance(sent, Message):
                    found[sent.content].add((item.scope, item.id, entry.turn))
                if isinstance(entry.body, TurnChange):
                    ends[entry.turn] += not entry.body.state.is_open
            assert not {turn for turn, times in ends.items() if times > 1}, f"two ends in {item.id}"
        lost = {text for text, place in self.acknowledged.items() if {each[:2] for each in found[text]} != {place}}
        assert not lost, f"lost: {sorted(lost)[:5]}"
        doubled = {text for text in self.acknowledged if len(found[text]) != 1}
        assert not doubled, f"doubled: {sorted(doubled)[:5]}"
        assert not (unshown := {text for text in self.answers if text not in found}), f"not kept: {sorted(unshown)[:5]}"
        assert not (back := self.erased & {text for text in found if found[text]}), f"came back: {sorted(back)[:5]}"
        for text, stranger in self.foreign.items():
            assert {scope for scope, *_ in found[text]} <= {stranger}, f"{text} is with somebody else"


async def _outage(campaign: Campaign, instance: Instance, proxy: DatabaseProxy, chance: random.Random) -> None:
    """Take the database away, and bring it back."""
    await campaign.bustle(12)
    chance.choice([proxy.fall_silent, proxy.fall_silent, proxy.lose_answers])()
    if chance.random() < CUT:
        proxy.cut()
    await campaign.bustle(20)
    if chance.random() < 0.2:
        await campaign.erase()
    deaths = [chance.randint(1, MOST_STEPS) for _ in range(chance.choice([0, 1, 1, 2]))]
    if deaths:
        await instance.rise(deaths.pop())
        await campaign.bustle(8)
    proxy.speak()
    await campaign.well()
    while instance.is_dead:
        await instance.rise(deaths.pop() if deaths else 0)
        await campaign.well()
    await instance.rise()
    await campaign.well()
    await campaign.catch_up()


async def play(outages: int, chance: random.Random, folder: Path) -> str:
    """Play so many outages; return what was counted."""
    with PostgresServer.start(durable=False) as server:
        urls = server.fresh_database()
        other = await open_store(urls.server)
        async with before(urls.server) as proxy:
            instance = Instance(proxy.url(), folder)
            await instance.start()
            campaign, checked = Campaign(instance, other, chance), 0
            for number in range(outages):
                await _outage(campaign, instance, proxy, chance)
                if number % 10 == 9 or number == outages - 1:
                    await campaign.check()
                    checked = number + 1
            await instance.store.close()
        await other.close()
    sent = len(campaign.acknowledged) + sum(text.startswith("message") for text in campaign.erased)
    told = ", ".join(f"{times} {what}" for what, times in sorted(campaign.counts.items()))
    return f"{checked} outages, {sent} messages acknowledged, {instance.deaths} deaths in drains, {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        told = asyncio.run(play(arguments.count, random.Random(arguments.seed), Path(name)))
    print(f"{told}: each there once, no turn with two ends, nobody came back", flush=True)


if __name__ == "__main__":
    main()
