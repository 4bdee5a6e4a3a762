"""The job that purges what was deleted: after a while, again and again, whatever goes wrong in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound, StoreBusy
from threadkeep.jobs.purge_deleted import KEPT_SECONDS, purge_deleted
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.memory import MemoryStore
from threadkeep.supervision import supervised
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new


class PurgedStore(MemoryStore):
    """A store that tells when it was purged, and fails as often as it is told to."""

    def __init__(self, clock: FakeClock, *failures: Exception) -> None:
        super().__init__(clock, new_id, MAX_BYTES)
        self._failures = list(failures)
        self.asked: asyncio.Queue[timedelta] = asyncio.Queue()

    async def purge(self, kept_for: timedelta) -> int:
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
async def _purging(store: PurgedStore) -> AsyncIterator[None]:
    job = asyncio.create_task(supervised("purging", lambda: purge_deleted(store, every=0)))
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        job.cancel()


async def test_what_was_deleted_can_be_restored_for_a_while_and_is_purged_then(clock: FakeClock) -> None:
    store = PurgedStore(clock)
    async with _purging(store):
        name = await new(store, ADA, "hello")
        await store.delete(ADA, name)
        clock.advance(KEPT_SECONDS - 1)
        assert await store.next_purge() == timedelta(seconds=KEPT_SECONDS)
        await store.restore(ADA, name)
        await store.delete(ADA, name)
        clock.advance(KEPT_SECONDS)
        await store.next_purge()
        with pytest.raises(ConversationNotFound):
            await store.restore(ADA, name)


async def test_a_failure_is_reported_and_the_next_round_goes_on(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = PurgedStore(clock, StoreBusy(), RuntimeError("a bug"))
    async with _purging(store):
        await store.next_purge()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
