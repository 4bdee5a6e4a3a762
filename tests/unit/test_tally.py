"""The tally: requests and places are counted together by all workers, exactly, and a dead one gives its places back."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from threadkeep import tally
from threadkeep.tally import Tally

ANN, BOB = ("acme", "ann"), ("acme", "bob")


def in_children(*works: Callable[[], object]) -> list[int]:
    """Do each work in a process of its own, all at once, and return what they ended with."""
    children = []
    for work in works:
        if (child := os.fork()) == 0:
            status = 1
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_requests_are_let_through_at_a_rate_and_who_waits_is_told_how_long() -> None:
    counts = Tally()
    assert [counts.request(ANN, 2, 3, 100.0) for _ in range(5)] == [0, 0, 0, 0.5, 0.5]
    assert counts.request(BOB, 2, 3, 100.0) == 0
    assert [counts.request(ANN, 2, 3, 100.5) for _ in range(2)] == [0, 0.5]
    assert [counts.request(ANN, 2, 3, 1000.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_of_many_holders_those_who_asked_least_recently_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "SLOTS", 16)
    counts = Tally()
    assert counts.request(ANN, 0.001, 1, 1.0) == 0
    for number in range(15):
        counts.request(("others", str(number)), 0.001, 1, 2.0)
    assert counts.request(ANN, 0.001, 1, 3.0) > 0
    for number in range(16):
        counts.request(("more", str(number)), 0.001, 1, 4.0)
    assert counts.request(ANN, 0.001, 1, 5.0) == 0


def test_places_are_taken_all_or_none_up_to_their_limits() -> None:
    counts = Tally()
    assert counts.enter({ANN: 1, BOB: 2}) is None
    assert counts.enter({BOB: 2, ANN: 1}) == ANN
    assert (counts.count(ANN), counts.count(BOB)) == (1, 1)
    assert counts.enter({ANN: 1}, behind=BOB) is None
    counts.leave((ANN, BOB))
    counts.leave((ANN, BOB))
    assert (counts.count(ANN), counts.count(BOB)) == (0, 0)


def test_where_there_is_no_room_for_a_name_its_places_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "SLOTS", 16)
    counts = Tally()
    for number in range(16):
        counts.enter({("others", str(number)): 0})
    assert counts.enter({ANN: 1}) is None
    assert counts.enter({ANN: 1}) is None
    counts.leave({ANN})
    counts.leave({("others", "3")})
    assert counts.enter({ANN: 1}) is None
    assert counts.enter({ANN: 1}) == ANN


def test_workers_that_ask_at_once_get_no_more_than_the_limit_together(tmp_path: Path) -> None:
    def ask(worker: int) -> None:
        counts.join(worker)
        for _ in range(1000):
            counts.enter({ANN: 1500})
            counts.request(BOB, 0.001, 10_000, 1.0)

    with (tmp_path / "lock").open("wb") as lock:
        counts = Tally(4, lock)
        assert in_children(*(partial(ask, worker) for worker in range(4))) == [0] * 4
        assert counts.count(ANN) == 1500
        left = next(number for number in range(10_000) if counts.request(BOB, 0.001, 10_000, 1.0))
    assert left == 6000


def test_the_places_of_a_worker_that_has_ended_are_given_back_and_no_others() -> None:
    counts = Tally(2)

    def take() -> None:
        counts.join(1)
        counts.enter({ANN: 0, BOB: 0})

    counts.enter({ANN: 0})
    assert in_children(take) == [0]
    assert (counts.count(ANN), counts.count(BOB)) == (2, 1)
    counts.clear(1)
    assert (counts.count(ANN), counts.count(BOB)) == (1, 0)
