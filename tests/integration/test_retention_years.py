"""Two simulated years of retention: three tenants with rules, caps and holds of their own, and two instances, of which
one dies at every step there is. Nothing goes too early, nothing is forgotten, nothing happens twice."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

import pytest

from tests.backends import opener
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease
from threadkeep.errors import LegalHold
from threadkeep.retention.holds import Holds, delete_unless_held
from threadkeep.retention.rules import Retention
from threadkeep.retention.run import CLAIMED_FOR, RetentionRunner
from threadkeep.store.audit import Wanted
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import running, say, settle

T = TypeVar("T")
DAY = 86_400
YEARS = 730
RULES: dict[str, dict[str, Any]] = {
    "acme": {},
    "globex": {
        "abandoned_after": "3d",
        "completed_kept": "5d",
        "time_to_live": "12d",
        "assistants": {"shop": {"abandoned_after": "1d", "time_to_live": "2d"}},
    },
    "umbrella": {"user_conversations": 4, "user_bytes": 90, "tenant_bytes": 150, "time_to_live": "60d"},
}
USERS = ("ada", "bob")
PAUSE = 2 * CLAIMED_FOR
"""How long after the first instance the second one looks: nobody's claim is in force any more then."""


class KilledError(BaseException):
    """The process died."""


class Mortal:
    """A store as a process sees it that dies at its `last` write: an odd number before it, an even one after it."""

    def __init__(self, inside: Store, last: int) -> None:
        self._inside = inside
        self._last, self.writes, append = last, 0, inside.audit.append

        class Audit:
            def __getattr__(self, name: str) -> Any:
                return getattr(inside.audit, name)

            async def append(_, *act: Any) -> None:  # noqa: N805 - the store's own is meant by self
                await self._dying(lambda: append(*act))

        self.audit = Audit()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)

    async def _dying(self, write: Callable[[], Awaitable[T]]) -> T:
        self.writes += 2
        if self.writes - 1 == self._last:
            raise KilledError
        done = await write()
        if self.writes == self._last:
            raise KilledError
        return done

    async def update(self, *args: Any, **options: Any) -> Any:
        return await self._dying(lambda: self._inside.update(*args, **options))

    async def delete(self, *args: Any, **options: Any) -> None:
        await self._dying(lambda: self._inside.delete(*args, **options))


@dataclass
class Thread:
    """A conversation as its people know it."""

    scope: Scope
    id: str
    assistant: str
    last: datetime
    status: Status = Status.ACTIVE
    lease: Lease | None = None


@dataclass
class World:
    """What people do, and what they expect to find."""

    store: Store
    clock: FakeClock
    random: Random = field(default_factory=lambda: Random(12))
    threads: dict[str, Thread] = field(default_factory=dict)
    holds: dict[str, tuple[str, str | None, str | None]] = field(default_factory=dict)
    deleted: Counter[str] = field(default_factory=Counter)
    abandoned: Counter[str] = field(default_factory=Counter)

    def is_kept(self, thread: Thread) -> bool:
        """Whether nothing may happen to a conversation."""
        names = ((None, None), (thread.id, None), (None, thread.scope.user))
        held = any(hold == (thread.scope.tenant, *name) for hold in self.holds.values() for name in names)
        return held or thread.lease is not None

    async def live(self) -> None:
        """Let people do what they do on a day."""
        for tenant in RULES:
            for _ in range(self.random.randrange(3)):
                await self._create(Scope(tenant=tenant, user=self.random.choice(USERS)))
        for _ in range(self.random.randrange(4)):
            if self.threads:
                await self._use(self.random.choice(list(self.threads.values())))
        await self._hold()

    async def _create(self, scope: Scope) -> None:
        thread = Thread(scope, new_id(), self.random.choice(["chat", "shop"]), self.clock.now)
        await self.store.create(scope, NewConversation(id=thread.id, assistant=thread.assistant))
        self.threads[thread.id] = thread
        await self._say(thread)

    async def _say(self, thread: Thread) -> None:
        await say(self.store, thread.id, "x" * self.random.randrange(1, 40), scope=thread.scope)
        thread.status = Status.ACTIVE

    async def _use(self, thread: Thread) -> None:
        if thread.lease is not None:
            await settle(self.store, thread.lease)
            thread.lease = None
        else:
            match self.random.randrange(6):
                case 0:
                    thread.lease = await running(self.store, thread.id, scope=thread.scope)
                    thread.status = Status.ACTIVE
                case 1 | 2:
                    await self.store.update(thread.scope, thread.id, Update(status=Status.COMPLETED))
                    thread.status = Status.COMPLETED
                case _:
                    await self._say(thread)
        thread.last = self.clock.now

    async def _hold(self) -> None:
        """Hold something now and then, see that it cannot be deleted, and let something go."""
        holds = Holds(self.store, self.clock, new_id)
        if self.threads and self.random.random() < 0.15:
            thread = self.random.choice(list(self.threads.values()))
            on = self.random.choice([(thread.id, None), (thread.id, None), (None, thread.scope.user), (None, None)])
            tenant = thread.scope.tenant
            hold = await holds.add(tenant, conversation=on[0], user=on[1], reason="case 7")
            self.holds[hold.id] = (tenant, *on)
            with pytest.raises(LegalHold):
                await delete_unless_held(self.store, thread.scope, thread.id)
        if self.holds and self.random.random() < 0.2:
            id = self.random.choice(list(self.holds))
            await holds.remove(self.holds.pop(id)[0], id)

    async def look(self) -> None:
        """Compare with what is stored after the instances have run, and take over what they did."""
        now, before = self.clock.now, dict(self.threads)
        stored = {}
        for tenant in RULES:
            for user in USERS:
                for item in (await self.store.list(Scope(tenant=tenant, user=user), limit=1000)).items:
                    stored[item.id] = item
        assert stored.keys() <= before.keys()
        gone = [thread for id, thread in before.items() if id not in stored]
        for id, item in stored.items():
            thread = self.threads[id]
            assert item.updated_at == thread.last
            if item.status is not thread.status:
                assert (thread.status, item.status) == (Status.ACTIVE, Status.ABANDONED)
                assert not self.is_kept(thread)
                assert now - thread.last >= _periods(thread)[0]
                thread.status = Status.ABANDONED
                self.abandoned[id] += 1
            else:
                self._check_not_forgotten(thread, now - PAUSE)
        capped = [thread for thread in gone if not self._check_not_too_early(thread, now)]
        for thread in gone:
            assert not self.is_kept(thread), thread
            del self.threads[thread.id]
            self.deleted[thread.id] += 1
        await self._check_caps(capped)

    def _check_not_too_early(self, thread: Thread, now: datetime) -> bool:
        """Whether a conversation that is gone was due; otherwise there must have been too many."""
        _, completed, lives = _periods(thread)
        idle = now - thread.last
        return (thread.status is Status.COMPLETED and idle >= completed) or idle >= lives

    def _check_not_forgotten(self, thread: Thread, now: datetime) -> None:
        if self.is_kept(thread):
            return
        abandoned, completed, lives = _periods(thread)
        idle = now - thread.last
        if thread.status is Status.ACTIVE:
            assert idle < abandoned, thread
        elif thread.status is Status.COMPLETED:
            assert idle < min(completed, lives), thread
        else:
            assert idle < lives, thread

    async def _check_caps(self, capped: list[Thread]) -> None:
        rules = RULES["umbrella"]
        assert all(thread.scope.tenant == "umbrella" for thread in capped), capped
        left = [thread for thread in self.threads.values() if thread.scope.tenant == "umbrella"]
        free = [thread for thread in left if not self.is_kept(thread)]
        for user in USERS:
            own = await self.store.operations.statistics("umbrella", user=user)
            is_over = own.conversations > rules["user_conversations"] or own.bytes > rules["user_bytes"]
            assert not is_over or not [thread for thread in free if thread.scope.user == user]
        whole = await self.store.operations.statistics("umbrella")
        assert whole.bytes <= rules["tenant_bytes"] or not free
        for thread in capped:
            # The oldest of the user goes first, or the oldest of all.
            others = [each.last for each in free if each.scope == thread.scope]
            assert all(last >= thread.last for last in others)

    async def check_record(self) -> None:
        """Compare with what the audit log tells of all that time: each deletion and each marking once."""
        told: dict[str, Counter[str]] = defaultdict(Counter)
        for tenant in RULES:
            wanted = Wanted(actions=("conversation.deleted", "conversation.status"), after=0)
            while records := await self.store.audit.read(tenant, wanted, limit=1000):
                for record in records:
                    told[_kind(record.act.details)][record.act.object.partition(":")[2]] += 1
                wanted = Wanted(actions=wanted.actions, after=records[-1].seq)
            assert not (await self.store.audit.verify(tenant)).breaks
        assert told["deleted"] == self.deleted
        # One may be marked and deleted between two looks, which then see the deletion alone.
        missed = told["abandoned"] - self.abandoned
        assert not self.abandoned - told["abandoned"]
        assert missed.keys() <= self.deleted.keys()
        assert set(told["deleted"].values()) == {1}


def _kind(details: Any) -> str:
    return str(details.get("status", "deleted"))


def _periods(thread: Thread) -> tuple[timedelta, timedelta, timedelta]:
    """Return how long a conversation is active, kept once completed, and kept at all, written out by hand."""
    days: dict[tuple[str, str], tuple[float, float, float]] = {
        ("globex", "chat"): (3, 5, 12),
        ("globex", "shop"): (1, 5, 2),
        ("umbrella", "chat"): (30, 90, 60),
        ("umbrella", "shop"): (30, 90, 60),
    }
    found = days.get((thread.scope.tenant, thread.assistant), (30, 90, 36_500))
    return timedelta(days=found[0]), timedelta(days=found[1]), timedelta(days=found[2])


@pytest.mark.parametrize(
    ("backend", "days"), [("memory", YEARS // 2), ("sqlite", YEARS // 5), ("postgresql", YEARS // 5)]
)
async def test_two_years_pass_and_everything_goes_when_it_is_due_and_once(
    backend: str, days: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    store = await opener(backend, tmp_path, request)(clock)
    world = World(store, clock)
    runner = RetentionRunner(store, Retention(), clock, new_id)
    for tenant, rules in RULES.items():
        await runner.set_rules(tenant, Retention.model_validate(rules))
    last, deaths = 1, 0
    for _ in range(days):
        await world.live()
        clock.advance(YEARS // days * DAY + 1)
        try:
            await RetentionRunner(cast(Store, Mortal(store, last)), Retention(), clock, new_id).run_all()
            last = 1
        except KilledError:
            last, deaths = last + 1, deaths + 1
        clock.advance(PAUSE.total_seconds())
        await RetentionRunner(store, Retention(), clock, new_id).run_all()
        await world.look()
    await world.check_record()
    assert deaths > days // 2
    assert world.deleted.total() > 50
    assert world.abandoned.total() > 50
    await store.close()
