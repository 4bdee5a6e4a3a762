"""The watch over a database that is away."""

import asyncio

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.errors import StoreFull
from threadkeep.runtime import open_store
from threadkeep_postgres.spool import outage
from threadkeep_postgres.spool.outage import OutageWatch


async def test_a_database_that_goes_away_again_while_the_last_is_written_is_looked_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outage, "LOOK_EVERY", 0)
    drains = asyncio.Semaphore(0)

    async def drain() -> bool:
        drains.release()
        if not watch.is_down and watch.since == began:
            watch.fall(StoreFull())
        return True

    watch = OutageWatch((await open_store("memory:")).operations, utc_now, drain, lambda: "nothing")
    watch.fall(StoreFull())
    began = watch.since
    await drains.acquire()
    await asyncio.sleep(0)
    assert (watch.is_down, watch.since) == (True, began)
    await watch.close()


async def test_what_failed_in_an_outage_is_told_of_no_more_when_it_has_ended() -> None:
    async def work(tenant: str) -> None:
        raise StoreFull

    async def drain() -> bool:
        return True

    database = (await open_store("memory:")).operations
    watch = OutageWatch(database, utc_now, drain, lambda: "nothing")
    watch.fall(StoreFull())
    await database.unreached.each("a job", ["a"], work)
    told = [database.unreached.state]
    assert watch._task is not None
    await watch._task
    told.append(database.unreached.state)
    assert [each is None for each in told] == [False, True]
    await watch.close()


async def test_the_log_tells_again_and_again_how_much_is_held(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outage, "LOOK_EVERY", 0)
    drains = asyncio.Semaphore(0)

    async def drain() -> bool:
        drains.release()
        return False

    watch = OutageWatch((await open_store("memory:")).operations, utc_now, drain, lambda: "3 conversations")
    watch.fall(StoreFull())
    for _ in range(outage.LOOKS_UNTOLD + 1):
        await drains.acquire()
    assert f"away since {watch.since}: 3 conversations in the spool" in caplog.text
    await watch.close()
