"""The jobs that purge what was deleted, obey retention and keep the audit log: again and again, whatever goes wrong in
between."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count

import pytest

from threadkeep.background import supervised
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound, StoreBusy
from threadkeep.jobs import KEPT_SECONDS, keep_audit, obey_daily, purge_deleted, release_idle
from threadkeep.retention.rules import Retention
from threadkeep.retention.run import RetentionRunner
from threadkeep.runtime import open_store
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import PRUNED, Act, Head
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, asked, new, say
from threadkeep_postgres.store import PostgresStore


class PurgedStore(MemoryStore):
    """A store that tells when it was purged, and fails as often as it is told to."""

    def __init__(self, clock: FakeClock, *failures: Exception) -> None:
        super().__init__(clock, new_id, MAX_BYTES)
        self._failures = list(failures)
        self.asked: asyncio.Queue[timedelta] = asyncio.Queue()

    async def purge(self, kept_for: timedelta, *, owner: object = None) -> int:
        if self._failures:
            raise self._failures.pop(0)
        removed = await super().purge(kept_for)
        self.asked.put_nowait(kept_for)
        return removed

    async def next_purge(self) -> timedelta:
        """Wait for a purge that begins from now on."""
        while not self.asked.empty():
            self.asked.get_nowait()
        return await self.asked.get()


@asynccontextmanager
async def _purging(store: PurgedStore, clock: FakeClock, steady: Callable[[], float]) -> AsyncIterator[None]:
    def work() -> Coroutine[None, None, None]:
        return purge_deleted(store, every=0, clock=clock, steady=steady)

    job = asyncio.create_task(supervised("purging", work))
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        job.cancel()


async def test_what_was_deleted_can_be_restored_for_a_while_and_is_purged_then(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    async with _purging(store, clock, lambda: clock.now.timestamp()):
        name = await new(store, ADA, "hello")
        clock.advance(KEPT_SECONDS)
        await store.delete(ADA, name)
        clock.advance(KEPT_SECONDS - 1)
        assert await store.next_purge() == timedelta(seconds=KEPT_SECONDS)
        await store.restore(ADA, name)
        await store.delete(ADA, name)
        clock.advance(KEPT_SECONDS)
        await store.next_purge()
        with pytest.raises(ConversationNotFound):
            await store.restore(ADA, name)


async def test_files_of_a_purged_conversation_go_with_it_and_those_of_others_stay(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    assert store.files is not None
    files = Attachments(store.files, clock)
    for name in ("gone", "kept"):
        await new(store, ADA, name=name)
        file = await files.save(ADA, name, "", name.encode())
        await store.append(ADA, name, Append(bodies=(asked("Look.").model_copy(update={"parts": (file,)}),)))
    await store.delete(ADA, "gone")
    clock.advance(KEPT_SECONDS)
    seconds = count(0, KEPT_SECONDS).__next__
    job = asyncio.create_task(purge_deleted(store, files, every=0, clock=clock, steady=seconds))
    async with asyncio.timeout(10):
        while (await files.usage("acme")).files > 1:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
    job.cancel()
    assert [file.name async for file in files.files("acme")] == ["kept"]


async def test_a_clock_that_is_set_forward_purges_nothing_early(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    seconds = 0.0
    async with _purging(store, clock, lambda: seconds):
        name = await new(store, ADA, "hello")
        seconds += KEPT_SECONDS
        clock.advance(KEPT_SECONDS)
        await store.delete(ADA, name)
        seconds += KEPT_SECONDS - 1
        clock.advance(KEPT_SECONDS - 1 + 3600)
        assert await store.next_purge() == timedelta(seconds=KEPT_SECONDS + 3600)
        await store.restore(ADA, name)


async def test_nothing_is_purged_before_the_process_has_run_long_enough(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    seconds = 0.0
    name = await new(store, ADA, "hello")
    await store.delete(ADA, name)
    clock.advance(3600)
    async with _purging(store, clock, lambda: seconds):
        for _ in range(5):
            await asyncio.sleep(0)
        assert store.asked.empty()
        seconds = KEPT_SECONDS
        await store.next_purge()
    with pytest.raises(ConversationNotFound):
        await store.restore(ADA, name)


@pytest.mark.server_may_fail
async def test_a_failure_is_reported_and_the_next_round_goes_on(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = PurgedStore(clock, StoreBusy(), RuntimeError("a bug"))
    async with _purging(store, clock, count(0, KEPT_SECONDS).__next__):
        await store.next_purge()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


async def test_retention_is_obeyed_again_and_again_and_a_failure_is_told_and_tried_again(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store, asked = PurgedStore(clock), asyncio.Queue[int]()

    class Failing(RetentionRunner):
        async def run_all(self) -> Counter[str]:
            asked.put_nowait(asked.qsize())
            if asked.qsize() == 1:
                raise StoreBusy
            return await super().run_all()

    name = await new(store, ADA, "hello")
    clock.advance(31 * 86_400)
    runner = Failing(store, Retention(), clock, new_id)
    job = asyncio.create_task(supervised("retention", lambda: obey_daily(runner, every=0)))
    async with asyncio.timeout(10):
        while (await store.get(ADA, name)).status is Status.ACTIVE:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
    job.cancel()
    assert "retention failed and is tried again" in caplog.text


async def test_a_server_that_is_restarted_often_obeys_retention_too(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    name = await new(store, ADA, "hello")
    clock.advance(31 * 86_400)
    job = asyncio.create_task(obey_daily(RetentionRunner(store, Retention(), clock, new_id), every=3600))
    async with asyncio.timeout(10):
        while (await store.get(ADA, name)).status is Status.ACTIVE:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
    job.cancel()


async def test_a_server_that_is_restarted_often_prunes_its_audit_log_too(clock: FakeClock) -> None:
    store = MemoryStore(clock, new_id, MAX_BYTES)
    await store.audit.append("acme", Act(at=clock(), action="key.created", object="key:one"))
    clock.advance(timedelta(days=30).total_seconds())
    job = asyncio.create_task(keep_audit(store, 29, every=3600, clock=clock))
    async with asyncio.timeout(10):
        while (await store.audit.read("acme"))[0].act.action != PRUNED:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
    job.cancel()


async def test_old_records_of_every_tenant_are_pruned_also_if_the_log_of_one_is_damaged(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore(clock, new_id, MAX_BYTES)
    for tenant in ("acme", "broken", "umbrella"):
        await store.audit.append(tenant, Act(at=clock(), action="key.created", object="key:one"))
    read_head, rounds = store.audit.head, asyncio.Semaphore(0)

    async def head(tenant: str) -> Head:
        if tenant == "acme":
            rounds.release()
        if tenant == "broken":
            raise StoreBusy
        return await read_head(tenant)

    store.audit.head = head  # type: ignore[method-assign]
    clock.advance(timedelta(days=30).total_seconds())
    working = asyncio.create_task(keep_audit(store, 29, every=0, clock=clock))
    for _ in range(3):
        await rounds.acquire()
    working.cancel()
    for tenant, actions in (("acme", [PRUNED]), ("broken", ["key.created"]), ("umbrella", [PRUNED])):
        assert [record.act.action for record in await store.audit.read(tenant)] == actions
    assert "broken" in caplog.text


async def test_what_memory_holds_of_idle_conversations_is_released_again_and_again(url: str) -> None:
    store = await open_store(url)
    name = await new(store, ADA, "hello")
    assert _remembered(store) > 0
    job = asyncio.create_task(supervised("releasing", lambda: release_idle(store, every=0)))
    try:
        async with asyncio.timeout(10):
            for word in ("one", "two"):
                await say(store, name, word)
                while _remembered(store):  # noqa: ASYNC110 - what is looked at is no event
                    await asyncio.sleep(0)
    finally:
        job.cancel()
        await store.close()


def _remembered(store: Store) -> int:
    """Return of how many conversations memory holds something."""
    match store:
        case PostgresStore():
            return len(store._log._ends) + len(store._log._locks) + len(store._db._places)
        case SqliteStore():
            return len(store._log._ends)
    raise AssertionError(type(store))
