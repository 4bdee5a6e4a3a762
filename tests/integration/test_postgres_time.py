"""Instances whose clocks disagree, on one PostgreSQL: leases and deletions go by the clock of the database."""

from datetime import timedelta

import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.clock import utc_now
from threadkeep.runtime import open_store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, NO_TIME, new, running, settle

LEASE = timedelta(seconds=10)
WRONG = [12, -12, 3600, -3600]


@pytest.mark.parametrize("seconds", WRONG)
async def test_an_instance_whose_clock_is_wrong_takes_no_turn_whose_owner_lives(
    postgres_database: Urls, seconds: int
) -> None:
    right = await open_store(postgres_database.server)
    wrong = await open_store(postgres_database.server, clock=lambda: utc_now() + timedelta(seconds=seconds))
    for owner, other in ((right, wrong), (wrong, right)):
        lease = await running(owner, await new(owner), lease_for=LEASE)
        assert await other.operations.expired(LEASE) == ()
        await owner.extend(lease, LEASE)
        assert await other.operations.expired(LEASE) == ()
        (seen,) = await other.turns(ADA, lease.conversation)
        assert abs(utc_now() + LEASE - (seen.until or utc_now())) < LEASE / 2
        await settle(owner, await other.take(seen, "one", LEASE))
    await right.close()
    await wrong.close()


@pytest.mark.parametrize("seconds", WRONG)
async def test_a_turn_that_was_let_go_is_seen_at_once_by_an_instance_whose_clock_is_wrong(
    postgres_database: Urls, seconds: int
) -> None:
    store = await open_store(postgres_database.server, clock=lambda: utc_now() + timedelta(seconds=seconds))
    lease = await running(store, await new(store), lease_for=LEASE)
    await store.extend(lease, NO_TIME)
    assert [turn.number for turn in await store.operations.expired(LEASE)] == [lease.turn]
    await store.close()


async def test_leases_that_a_clock_of_the_database_gave_while_it_was_ahead_have_run_out(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    lease = await running(store, await new(store), lease_for=LEASE)
    postgres_server.execute(
        "UPDATE threadkeep.turn SET until = until + interval '1 hour'", postgres_server.as_admin(postgres_database)
    )
    assert [turn.number for turn in await store.operations.expired(LEASE)] == [lease.turn]
    await store.close()


async def test_a_clock_that_jumps_forward_purges_nothing_early(postgres_database: Urls) -> None:
    clock = FakeClock()
    store = await open_store(postgres_database.server, clock=clock)
    name = await new(store, ADA, "hello")
    await store.delete(ADA, name)
    clock.jump(3600)
    assert await store.operations.purge(timedelta(seconds=30)) == 0
    assert (await store.restore(ADA, name)).id == name
    await store.close()
