"""The registry: tools by name, one of each."""

import pytest

from tests.unit.tools.samples import Named
from threadkeep.errors import InvalidValue
from threadkeep.tools.registry import Registry


def test_tools_are_found_by_name_and_keep_their_order() -> None:
    second, first = Named("second"), Named("first")
    registry = Registry([second, first])
    assert registry.get("first") is first
    assert registry.get("third") is None
    assert [spec.name for spec in registry.specs()] == ["second", "first"]
    assert list(registry) == [second, first]
    assert len(registry) == 2


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValue, match="Two tools are named same"):
        Registry([Named("same"), Named("other"), Named("same")])


def test_more_tools_make_another_registry_and_never_replace_one() -> None:
    mine, theirs, new = Named("taken"), Named("taken"), Named("new")
    registry = Registry([mine])
    more = registry.plus([theirs, new])
    assert list(more) == [mine, new]
    assert list(registry) == [mine]


def test_an_unknown_tool_is_answered_with_the_closest_names() -> None:
    registry = Registry([Named("get_weather"), Named("send_mail")])
    error = registry.unknown("weather_get").error
    assert error == ("There is no tool 'weather_get'. Did you mean get_weather? The tools are: get_weather, send_mail.")


def test_an_unknown_tool_among_many_lists_some() -> None:
    error = Registry(Named(f"tool{number:03}") for number in range(100)).unknown("zzz").error
    assert error is not None
    assert "Did you mean" not in error
    assert "tool019 and 80 more." in error


def test_a_call_where_there_are_no_tools_says_so() -> None:
    assert Registry().unknown("any").error == "There is no tool 'any'; no tools can be called here."
