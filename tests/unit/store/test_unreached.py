"""Background work for one tenant after the other: who is left out, when it is tried again, what is told."""

import logging
from contextlib import suppress

import pytest

from threadkeep.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from threadkeep.store.unreached import AGAIN_AFTER, ENOUGH, TOLD_FOR, Damage, Unreached, UnreachedTenants
from threadkeep.testing.clock import FakeClock


class Database:
    """Tenants, some of whom cannot be reached, or all."""

    def __init__(self) -> None:
        self.away: dict[str, StoreError] = {}
        self.is_down = False
        self.asked: list[str] = []

    async def ping(self) -> None:
        if self.is_down:
            raise StoreUnavailable("All of it is away.")

    async def work(self, tenant: str) -> str:
        self.asked.append(tenant)
        if tenant in self.away:
            raise self.away[tenant]
        return tenant.upper()


TENANTS = ("a", "b", "c")


async def test_a_tenant_that_cannot_be_reached_is_left_out_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    began = clock()
    database.away["b"] = StoreUnavailable("worker-2 is away.")
    for _ in range(3):
        assert await unreached.each("a job", TENANTS, database.work) == ["A", "C"]
        clock.advance(AGAIN_AFTER.total_seconds())
    assert unreached.state == UnreachedTenants(1, began, "store_unavailable")
    assert database.asked.count("b") == 3
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    database.away.clear()
    assert await unreached.each("a job", TENANTS, database.work) == ["A", "B", "C"]
    assert unreached.state is None


async def test_a_spell_in_which_a_tenant_could_only_be_read_is_over_when_its_work_is_done() -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    database.away["b"] = StoreReadOnly()
    await unreached.each("a job", TENANTS, database.work)
    assert unreached.state is not None
    database.away.clear()
    clock.advance(AGAIN_AFTER.total_seconds())
    assert await unreached.each("a job", TENANTS, database.work) == ["A", "B", "C"]
    assert unreached.state is None


async def test_one_that_failed_is_not_tried_again_at_once_but_by_another_job() -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    database.away = {"a": StoreUnavailable(), "b": StoreUnavailable("worker-2 is away.")}
    for _ in range(2):
        assert await unreached.each("a job", TENANTS, database.work) == ["C"]
    assert database.asked == ["a", "b", "c", "c"]
    await unreached.each("another", TENANTS, database.work)
    assert database.asked[4:] == ["a", "b", "c"]
    assert unreached.state is not None
    assert unreached.state.tenants == 2
    unreached.keep("a job", {"b"})
    unreached.keep("another", set())
    assert unreached.state == UnreachedTenants(1, clock(), "store_unavailable")


async def test_one_damaged_conversation_does_not_keep_its_neighbours_waiting() -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    database.away["a1"] = StoreCorrupt("A conversation is damaged.")
    for _ in range(2):
        done = await unreached.each("a job", ("a1", "a2", "b1"), database.work, lambda item: item[0])
        assert done == ["A2", "B1"]
    assert unreached.state == UnreachedTenants(1, clock(), "store_corrupt")


async def test_when_an_outage_has_ended_only_damage_is_told_of_and_everything_is_tried_again() -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    database.away = {"a": StoreFull(), "b": StoreCorrupt("A conversation is damaged.")}
    await unreached.each("a job", TENANTS, database.work)
    database.away.pop("a")
    unreached.forget_outage()
    assert unreached.state == UnreachedTenants(1, clock(), "store_corrupt")
    assert await unreached.each("a job", TENANTS, database.work) == ["A", "C"]


async def test_a_rare_job_that_failed_once_is_not_told_of_until_it_runs_again() -> None:
    database, clock = Database(), FakeClock()
    unreached = Unreached(database.ping, clock)
    database.away["b"] = StoreUnavailable("worker-2 is away.")
    await unreached.each("a rare job", TENANTS, database.work)
    assert unreached.state is not None
    clock.advance(TOLD_FOR.total_seconds())
    assert unreached.state is None


async def test_a_database_that_is_away_as_a_whole_is_nobodys_failure_in_particular() -> None:
    database = Database()
    unreached = Unreached(database.ping, FakeClock())
    database.away, database.is_down = {"a": StoreUnavailable()}, True
    with pytest.raises(StoreUnavailable, match="All of it"):
        await unreached.each("a job", TENANTS, database.work)
    assert database.asked == ["a"]
    assert unreached.state is None


def _refuse(damage: Damage, conversation: str | None) -> None:
    with suppress(StoreCorrupt), damage.noted(conversation):
        raise StoreCorrupt


def test_one_conversation_that_is_refused_again_and_again_leaves_the_store_well() -> None:
    damage = Damage(FakeClock())
    for _ in range(2 * ENOUGH):
        _refuse(damage, "the same")
    damage.check()


def test_a_store_that_refuses_several_conversations_and_writes_none_is_damaged() -> None:
    damage = Damage(FakeClock())
    for number in range(2 * ENOUGH):
        _refuse(damage, f"{number}")
    with pytest.raises(StoreCorrupt):
        damage.check()
    with damage.noted("another"):
        pass
    damage.check()


def test_a_store_in_which_nothing_can_be_created_is_damaged() -> None:
    damage = Damage(FakeClock())
    for _ in range(ENOUGH):
        _refuse(damage, None)
    with pytest.raises(StoreCorrupt):
        damage.check()


def test_damage_that_nobody_meets_any_more_is_forgotten() -> None:
    clock = FakeClock()
    damage = Damage(clock)
    for number in range(ENOUGH):
        _refuse(damage, f"{number}")
    clock.advance(TOLD_FOR.total_seconds() + 1)
    damage.check()
