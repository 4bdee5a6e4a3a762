"""Servers on one database count together: requests, and places for turns and streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.postgres_server import Urls
from tests.unit.turn.processes import until
from threadkeep.tally import Tally
from threadkeep_postgres import counts
from threadkeep_postgres.counts import share

ANN, BOB = ("requests", "acme", "ann"), ("requests", "acme", "bob")


@asynccontextmanager
async def sharing(url: str) -> AsyncIterator[Tally]:
    """A tally that is shared."""
    tally = Tally()
    task = asyncio.create_task(share(url, tally))
    try:
        yield tally
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """They tell each other without much of a pause."""
    monkeypatch.setattr(counts, "EVERY", 0.02)
    monkeypatch.setattr(counts, "GONE_AFTER", 0.5)


async def test_what_one_server_lets_through_the_other_does_not(postgres_database: Urls) -> None:
    async with sharing(postgres_database.server) as one, sharing(postgres_database.server) as other:
        # No time passes for those who ask, so that nothing is refilled.
        assert other.request(ANN, 1, 10, 0.0) == 0
        assert other.request(BOB, 1, 10, 0.0) == 0
        await until(lambda: _is_heard(one, other))
        while one.request(ANN, 1, 10, 0.0) == 0:
            pass
        await until(lambda: other.request(ANN, 1, 10, 0.0) > 1)
        assert other.request(BOB, 1, 10, 0.0) == 0


def _is_heard(one: Tally, other: Tally) -> bool:
    """Whether words arrive: a place that is taken at the one is known at the other."""
    one.enter({("turns", "probe"): 0})
    return other.count(("turns", "probe")) > 0


async def test_places_count_everywhere_until_they_are_given_back_or_their_server_is_gone(
    postgres_database: Urls,
) -> None:
    places = {("turns", "acme", "ann"): 2, ("turns", "acme"): 5}
    async with sharing(postgres_database.server) as other:
        async with sharing(postgres_database.server) as one:
            for _ in range(2):
                assert one.enter(places) is None
            await until(lambda: other.count(("turns", "acme")) == 2)
            assert other.enter(places) == ("turns", "acme", "ann")
            assert other.enter({("turns", "acme", "bob"): 2, ("turns", "acme"): 5}) is None
            await until(lambda: one.count(("turns", "acme")) == 3)
            one.leave(places)
            await until(lambda: other.count(("turns", "acme", "ann")) == 1)
            assert other.enter(places) is None
        await until(lambda: other.count(("turns", "acme")) == 2)
        assert other.count(("turns", "acme", "ann")) == 1
