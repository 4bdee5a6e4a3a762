"""What was found wrong with files: told once, and of a bounded number of them."""

import logging
from pathlib import Path

import pytest

from threadkeep.store.files.problems import MOST, FileProblems
from threadkeep.testing.clock import FakeClock


def test_a_problem_that_stays_the_same_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = FileProblems(FakeClock())
    with caplog.at_level(logging.WARNING):
        for detail in ("no JSON", "no JSON", "half a file"):
            problems.report(Path("a.json"), detail)
    assert [record.getMessage() for record in caplog.records] == ["a.json: no JSON", "a.json: half a file"]
    assert [problem.detail for problem in problems.all()] == ["half a file"]


def test_the_oldest_problem_makes_room() -> None:
    problems = FileProblems(FakeClock())
    for number in range(MOST + 1):
        problems.report(Path(f"{number}.json"), "no JSON")
    assert len(problems.all()) == MOST
    assert problems.all()[0].path == Path("1.json")
