"""Versions of lists: whatever is done to a list, the steps from the older version lead to it."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_integrations.langgraph.forms import FormError, Item, StrictSerializer, form_of
from threadkeep_integrations.langgraph.lists import Handed, ListVersion, New, difference

SERDE = StrictSerializer()
lists = st.lists(st.sampled_from([1, True, 1.0, "1", None, {"a": 1}, {"a": True}]), max_size=8)


def values(version: ListVersion) -> list[str]:
    return [repr(item.value(SERDE)) for item in version.items()]


def made(base: ListVersion | None, changes: Any) -> ListVersion:
    steps = [Item(deepcopy(form_of(each.value, SERDE))) if isinstance(each, New) else each for each in changes]
    return ListVersion(base, steps)


@given(st.lists(lists, min_size=1, max_size=6))
def test_each_version_is_what_it_was_made_of(stages: list[list[Any]]) -> None:
    versions: list[ListVersion] = []
    for stage in stages:
        base = versions[-1] if versions else None
        items = base.items() if base else ()
        versions.append(made(base, difference(stage, items, SERDE)))
    for version, stage in zip(versions, stages, strict=True):
        assert values(version) == [*map(repr, stage)]
        assert len(version) == len(stage)


def test_what_is_still_the_same_object_is_not_looked_into_unless_it_was_returned() -> None:
    first, second = {"a": 1}, {"b": 1}
    version = made(None, [New(first), New(second)])
    handed = Handed("1", [first, second])
    second["b"] = 2
    assert handed.difference([first, second, 3], set(), version.items(), SERDE) == [[0, 2], New(3)]
    found = handed.difference([first, second, 3], {id(second)}, version.items(), SERDE)
    assert found == [[0, 1], New({"b": 2}), New(3)]
    assert handed.difference([second, first], set(), version.items(), SERDE) == [[1, 2], New(first)]


def test_versions_that_only_grow_share_their_elements() -> None:
    versions = [made(None, [New(0)])]
    for number in range(1, 100):
        versions.append(made(versions[-1], [[0, number], New(number)]))
    fork = made(versions[10], [[0, 11], New("fork")])
    assert values(fork)[-2:] == ["10", "'fork'"]
    assert values(versions[50]) == [str(number) for number in range(51)]
    assert versions[99]._shared is versions[0]._shared


@pytest.mark.parametrize("steps", [[[0, 3]], [[1, 2], [0, 1]], [[0, 1], [0, 1]], [[-1, 1]], [[0, True]]])
def test_a_version_cannot_be_larger_than_what_was_written(steps: Any) -> None:
    with pytest.raises(FormError):
        ListVersion(made(None, [New(0), New(1)]), steps)
