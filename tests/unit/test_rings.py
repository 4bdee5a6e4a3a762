"""What packages around the core bring along: found by entry points, and told in a sentence where it is missing."""

import math
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from threadkeep import rings
from threadkeep.errors import PackageMissing

RINGS = sorted((Path(__file__).parents[2] / "src").glob("threadkeep_*/**/*.py"))


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """What is installed, as long as this test lasts: nothing but what is added to it."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(rings, "entry_points", lambda group: [point for point in points if point.group == group])
    monkeypatch.setattr(rings, "offered", rings.offered.__wrapped__)
    return points


def test_what_a_package_offers_is_loaded_by_its_name(offered: list[EntryPoint]) -> None:
    offered.append(EntryPoint("root", "math:sqrt", "numbers"))
    assert rings.load("numbers", "root", "the root")(9) == 3


def test_what_is_offered_is_told_in_the_order_of_the_names(offered: list[EntryPoint]) -> None:
    offered += [EntryPoint(name, "math:pi", "numbers") for name in ("pi", "e")]
    offered.append(EntryPoint("a", "math:pi", "letters"))
    assert [point.name for point in rings.offered("numbers")] == ["e", "pi"]


def test_what_no_package_offers_is_named(offered: list[EntryPoint]) -> None:
    with pytest.raises(PackageMissing, match=r"No installed package offers the root \(entry point root in numbers\)"):
        rings.load("numbers", "root", "the root")


def test_a_package_that_lacks_one_that_it_needs_names_it(offered: list[EntryPoint]) -> None:
    offered.append(EntryPoint("root", "no_such_package.roots:root", "numbers"))
    with pytest.raises(PackageMissing, match="the root cannot be loaded: No module named 'no_such_package'"):
        rings.load("numbers", "root", "the root")


def test_all_that_is_offered_is_loaded_but_for_what_cannot_be(
    offered: list[EntryPoint], caplog: pytest.LogCaptureFixture
) -> None:
    offered += [EntryPoint("pi", "math:pi", "numbers"), EntryPoint("e", "no_such_package:e", "numbers")]
    assert rings.load_all("numbers") == [math.pi]
    assert "e of numbers cannot be loaded: No module named 'no_such_package'" in caplog.text


def test_the_loggers_of_rings_are_below_that_of_the_core() -> None:
    lines = [line for path in RINGS for line in path.read_text(encoding="utf-8").splitlines() if "getLogger(" in line]
    assert lines
    others = [line for line in lines if 'getLogger("threadkeep.' not in line and "getLogger()" not in line]
    assert [line for line in others if ".setLevel(" not in line] == []
