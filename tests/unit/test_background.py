"""Tasks that never die silently, and a thread for one call."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest

from tests.unit.turn.processes import Processes, new_conversation, until
from threadkeep import background as module
from threadkeep.background import in_thread, supervised
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.turn import Lease
from threadkeep.errors import StoreUnavailable
from threadkeep.jobs import purge_deleted
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.changes import NotifyChannel
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.tools.mcp import McpServer, McpServers
from threadkeep_integrations.mcp.connection import Connection

FAILURES = [StoreUnavailable(), RuntimeError("a bug"), asyncio.CancelledError(), MemoryError()]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits longer than it must."""
    monkeypatch.setattr(module, "FIRST_PAUSE", 0)


def failing(work: Callable[[], Awaitable[None]], failures: list[BaseException]) -> Callable[[], Awaitable[None]]:
    """Return work that fails first, once in each of these ways."""

    async def run() -> None:
        if failures:
            raise failures.pop(0)
        await work()

    return run


@pytest.mark.server_may_fail
async def test_work_is_run_again_after_every_kind_of_failure_and_each_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    await asyncio.wait_for(supervised("counting", failing(work, [*FAILURES])), 10)
    assert done.is_set()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR", "ERROR", "ERROR"]
    assert all(record.getMessage().startswith("counting failed") for record in caplog.records)


async def test_work_that_fails_while_it_is_cancelled_is_not_run_again() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise StoreUnavailable("The database is silent.")

    task = asyncio.create_task(supervised("work", work))
    await begun.wait()
    task.cancel()
    await asyncio.wait((task,), timeout=60)
    assert task.cancelled()


async def test_an_error_of_ours_that_comes_again_and_again_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    failures = [StoreUnavailable("cut"), *[StoreUnavailable("away")] * 3, StoreUnavailable("cut")]
    await asyncio.wait_for(supervised("telling", failing(work, [*failures])), 10)
    assert done.is_set()
    told = [record.getMessage().rpartition(": ")[2] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["cut", "away", "cut"]


async def test_whoever_cancels_the_task_ends_it() -> None:
    task = asyncio.create_task(supervised("waiting", lambda: asyncio.sleep(3600)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_pauses_grow_and_are_short_again_after_work_that_ran_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 0.0, list[float]()
    monkeypatch.setattr(module, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr("threadkeep.background.time.monotonic", lambda: now)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def work() -> None:
        nonlocal now
        if len(pauses) == 7:
            return
        now += module.LONGEST_PAUSE + 1 if len(pauses) == 6 else 0
        raise StoreUnavailable

    monkeypatch.setattr("threadkeep.background.asyncio.sleep", pause)
    await supervised("failing", work)
    assert pauses == [1, 2, 4, 8, 10, 10, 1]


class FailingStore(MemoryStore):
    """A store whose verbs for background tasks fail first, in ways that nobody expects of them."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, new_id, MAX_BYTES)
        self.left = dict.fromkeys(("expired", "purge", "extend", "channel"), 2)
        self.worked = set[str]()

    def _use(self, verb: str) -> None:
        if self.left[verb]:
            self.left[verb] -= 1
            raise RuntimeError(f"{verb} is not itself")
        self.worked.add(verb)

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple:  # type: ignore[type-arg]
        self._use("expired")
        return await super().expired(lease_for, limit=limit)

    async def purge(self, kept_for: object, *, owner: object = None) -> int:
        self._use("purge")
        return 0

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        self._use("extend")
        await super().extend(lease, lease_for)

    def notify_channel(self) -> NotifyChannel:
        return FailingChannel(self._use)


class FailingChannel(NotifyChannel):
    """A channel that cannot be opened at first."""

    def __init__(self, use: Callable[[str], None]) -> None:
        self._use = use

    async def open(self, hear: object) -> None:
        self._use("channel")

    async def send(self, words: object) -> None:
        return

    async def close(self) -> None:
        return


@pytest.mark.server_may_fail
async def test_every_background_task_outlives_errors_that_nobody_foresaw(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FailingStore(clock)
    monkeypatch.setattr("threadkeep.jobs.purge_deleted", partial(purge_deleted, kept=0, every=0.01))

    async def open_store() -> FailingStore:
        return store

    processes = Processes(open_store, clock)
    conversations = await processes.open(ScriptedModel([asyncio.Event()]), lease_for=timedelta(milliseconds=30))
    await (await new_conversation(conversations)).send("hello")
    await until(lambda: store.worked == {"expired", "purge", "extend", "channel"})
    await conversations.close()


@pytest.mark.server_may_fail
async def test_the_owner_of_an_mcp_connection_outlives_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, failures = asyncio.Event(), list[BaseException]([RuntimeError("a bug")])

    async def connect(self: Connection) -> str:
        if failures:
            raise failures.pop()
        asked.set()
        return "nobody is there"

    monkeypatch.setattr(Connection, "_stay_connected", connect)
    async with McpServers({"one": McpServer(command="nothing")}):
        await asyncio.wait_for(asked.wait(), 10)


class SlowStore(MemoryStore):
    """A store in which one conversation's lease is never extended."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, new_id, MAX_BYTES)
        self.slow = ""
        self.extended = set[str]()

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        if lease.conversation == self.slow and lease_for:
            await asyncio.Event().wait()
        self.extended.add(lease.conversation)


async def test_a_lease_that_cannot_be_extended_costs_the_others_nothing(clock: FakeClock) -> None:
    store = SlowStore(clock)

    async def open_store() -> SlowStore:
        return store

    waits = [asyncio.Event()]
    conversations = await Processes(open_store, clock).open(
        ScriptedModel(waits, waits), lease_for=timedelta(milliseconds=30)
    )
    one, other = await new_conversation(conversations), await new_conversation(conversations)
    store.slow = one.id
    await one.send("hello")
    await other.send("hello")
    await until(lambda: other.id in store.extended)
    await conversations.close()


async def test_the_result_and_the_error_come_back() -> None:
    assert await in_thread(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_functions_that_hang_take_no_place_from_others() -> None:
    go_on = threading.Event()
    hanging = [asyncio.create_task(in_thread(go_on.wait)) for _ in range(64)]
    assert await in_thread(lambda: "through") == "through"
    go_on.set()
    assert await asyncio.gather(*hanging) == [True] * 64


def test_a_function_that_outlives_its_loop_is_left_alone() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def function() -> None:
        go_on.wait()
        ended.set()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(function), timeout=0.01)

    asyncio.run(give_up())
    go_on.set()
    assert ended.wait(10)
