"""Which of several hosts is the primary."""

import asyncio
from typing import Any

import asyncpg
import pytest

from threadkeep_postgres import hosts
from threadkeep_postgres.hosts import Hosts


class Reached:
    """A connection to a host that is on a timeline, or tells none."""

    def __init__(self, name: str, timeline: int | None) -> None:
        self.name = name
        self._timeline = timeline

    async def fetchval(self, sql: str, timeout: float) -> int | None:
        if self._timeline == -1:
            raise asyncpg.FeatureNotSupportedError("no such function here")
        return self._timeline

    def terminate(self) -> None:
        """Nothing is held."""


class Network:
    """Hosts by name: their timelines, what keeps one from being reached, or None for one that is silent."""

    def __init__(self, **there: int | Exception | None) -> None:
        self.there = there
        self.reached: list[str] = []

    async def reach(self, name: str) -> Any:
        self.reached.append(name)
        found = self.there[name]
        if found is None:
            await asyncio.Event().wait()
        if isinstance(found, Exception):
            raise found
        return Reached(name, found)

    def hosts(self) -> Hosts:
        """Return the hosts in the order of their names."""
        return Hosts(sorted(self.there), self.reach)


STANDBY = asyncpg.TargetServerAttributeNotMatched("not read-write")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long in these tests."""
    monkeypatch.setattr(hosts, "OTHERS_SECONDS", 0.05)


@pytest.mark.parametrize(
    ("there", "primary"),
    [
        ({"a": STANDBY, "b": 1}, "b"),
        ({"a": 1, "b": 1}, "a"),
        ({"a": 1, "b": 2}, "b"),
        ({"a": -1, "b": -1}, "a"),
        ({"a": None, "b": 1}, "b"),
        ({"a": OSError("away"), "b": 3, "c": 2}, "b"),
    ],
)
async def test_the_one_that_was_promoted_last_is_taken_of_those_that_can_be_written(
    there: dict[str, int | Exception | None], primary: str
) -> None:
    found = Network(**there).hosts()
    assert (await found.connect()).name == primary
    assert (await found.connect()).name == primary


async def test_a_primary_from_before_a_promotion_is_not_gone_back_to() -> None:
    network = Network(a=1, b=STANDBY)
    found = network.hosts()
    assert (await found.connect()).name == "a"
    network.there |= {"a": None, "b": 2}
    found.doubt()
    assert (await found.connect()).name == "b"
    network.there |= {"a": 1, "b": OSError("away")}
    with pytest.raises(ConnectionError, match="promotion"):
        await found.connect()
    network.there["b"] = 2
    assert (await found.connect()).name == "b"


async def test_who_is_newly_promoted_is_not_kept_waiting_by_one_that_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosts, "OTHERS_SECONDS", 3600.0)
    network = Network(a=1, b=STANDBY)
    found = network.hosts()
    await found.connect()
    network.there |= {"a": None, "b": 2}
    found.doubt()
    assert (await found.connect()).name == "b"


async def test_many_who_need_a_connection_look_for_the_primary_once() -> None:
    network = Network(a=STANDBY, b=1)
    found = network.hosts()
    reached = await asyncio.gather(*(found.connect() for _ in range(10)))
    assert {each.name for each in reached} == {"b"}
    assert sorted(network.reached) == ["a"] + ["b"] * 11


async def test_where_there_is_none_everybody_is_told_why_and_the_next_one_looks_again() -> None:
    network = Network(a=OSError("away"), b=STANDBY)
    found = network.hosts()
    told = await asyncio.gather(*(found.connect() for _ in range(3)), return_exceptions=True)
    assert told == [STANDBY] * 3
    network.there["b"] = 2
    assert (await found.connect()).name == "b"
