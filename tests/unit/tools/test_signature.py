"""Docstrings: the first paragraph, and parameters in Google's style.

Arguments: what a model sends is checked before the call, and what is wrong is told so that it can do better.
"""

import json
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tools.samples import CONTEXT
from threadkeep.conversation.scope import Scope
from threadkeep.tools.decorator import tool
from threadkeep.tools.signature import Docstring


def documented(text: str | None) -> Callable[[], Any]:
    """Return a function with that docstring."""

    def function() -> None:
        return None

    function.__doc__ = text
    return function


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (None, ""),
        ("One line.", "One line."),
        ("Two\n    lines.\n\n    And more.", "Two lines."),
        ("Short.\n    Args:\n        a: A.", "Short."),
    ],
)
def test_the_summary_is_the_first_paragraph(text: str | None, summary: str) -> None:
    assert Docstring.of(documented(text)).summary == summary


def test_parameters_are_read_from_the_section_of_arguments() -> None:
    text = """Do it.

    Note: this is no parameter.

    Args:
        city (str, optional): Which city,
            for example: Bergen.
        *rest: All
        days:
            How many.

        unit: C or F.

    Returns:
        text: Not a parameter either.
    """
    assert Docstring.of(documented(text)).parameters == {
        "city": "Which city, for example: Bergen.",
        "rest": "All",
        "days": "How many.",
        "unit": "C or F.",
    }


def test_a_section_without_a_parameter_is_harmless() -> None:
    assert Docstring.of(documented("Do it.\n\nArgs:\n    nothing in particular\n")).parameters == {}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Size(StrEnum):
    """Some choices."""

    SMALL = "small"
    LARGE = "large"


ran: list[dict[str, Any]] = []


@tool
async def order(what: str, count: int, size: Size = Size.SMALL, on: date | None = None) -> str:
    """Order something."""
    ran.append({"what": what, "count": count, "size": size, "on": on})
    return "ordered"


async def complaint_about(**args: Any) -> str:
    """Return the error of a call with these arguments, which must not have run."""
    ran.clear()
    outcome = await order.run(args, CONTEXT)
    assert not ran
    assert outcome.error is not None
    assert outcome.content == outcome.error
    return outcome.error


async def test_a_missing_argument_is_told_with_what_was_expected() -> None:
    assert await complaint_about(what="tea") == (
        'The arguments of order are not valid:\n- count: this argument is missing; expected {"type": "integer"}'
    )


async def test_an_argument_of_the_wrong_kind_is_told_with_what_came() -> None:
    error = await complaint_about(what="tea", count="many", size="huge")
    assert "- count: Input should be a valid integer" in error
    assert '(got "many")' in error
    assert "- size: Input should be 'small' or 'large'" in error


async def test_an_unknown_argument_is_told_with_those_there_are() -> None:
    error = await complaint_about(what="tea", count=1, colour="green")
    assert "- colour: there is no such argument; the arguments are: what, count, size, on" in error


async def test_a_place_inside_an_argument_is_named() -> None:
    @tool
    async def total(rows: list[dict[str, int]]) -> int:
        return len(rows)

    outcome = await total.run({"rows": [{"a": 1}, {"b": "x"}]}, CONTEXT)
    assert outcome.error is not None
    assert "- rows.1.b: Input should be a valid integer" in outcome.error


async def test_a_large_wrong_argument_is_shown_in_part() -> None:
    assert len(await complaint_about(what="tea", count="9" * 100_000)) < 500


async def test_many_wrong_arguments_are_shown_in_part() -> None:
    error = await complaint_about(what="tea", count=1, **{f"extra{number}": 1 for number in range(50)})
    assert error.endswith("- and 40 more")


async def test_a_value_of_ours_that_refuses_its_input_is_told_too() -> None:
    @tool
    async def look(scope: Scope) -> str:
        return scope.user

    outcome = await look.run({"scope": {"tenant": "../etc", "user": "u"}}, CONTEXT)
    assert outcome.error is not None
    assert outcome.error.startswith("The arguments of look are not valid: An id has")


async def test_arguments_are_converted_from_what_json_can_say() -> None:
    ran.clear()
    assert (await order.run({"what": "tea", "count": "3", "size": "large", "on": "2026-11-15"}, CONTEXT)).error is None
    assert ran == [{"what": "tea", "count": 3, "size": Size.LARGE, "on": date(2026, 11, 15)}]


async def test_a_default_that_can_change_is_not_shared_between_calls() -> None:
    @tool
    def collect(item: str, items: list[str] = []) -> list[str]:  # noqa: B006
        items.append(item)
        return items

    assert (await collect.run({"item": "a"}, CONTEXT)).content == '["a"]'
    assert (await collect.run({"item": "b"}, CONTEXT)).content == '["b"]'


@given(st.dictionaries(st.sampled_from(["what", "count", "size", "on"]) | st.text(max_size=5), anything, max_size=6))
async def test_whatever_a_model_sends_gives_an_outcome_and_runs_only_if_it_is_right(args: dict[str, Any]) -> None:
    ran.clear()
    outcome = await order.run(args, CONTEXT)
    assert (outcome.error is None) == bool(ran)
    for values in ran:
        assert type(values["what"]) is str
        assert type(values["count"]) is int
        assert isinstance(values["size"], Size)
    outcome.content.encode()


@given(st.text(), st.integers(-(2**53), 2**53), st.sampled_from(Size), st.none() | st.dates())
async def test_arguments_that_fit_the_schema_arrive_as_they_are(
    what: str, count: int, size: Size, on: date | None
) -> None:
    ran.clear()
    sent = {"what": what, "count": count, "size": size.value, "on": on and on.isoformat()}
    outcome = await order.run(json.loads(json.dumps(sent)), CONTEXT)
    assert outcome.error is None
    assert ran == [{"what": what, "count": count, "size": size, "on": on}]


@pytest.mark.parametrize("args", [{}, {"surprise": 1}])
async def test_a_tool_without_arguments_takes_none(args: dict[str, Any]) -> None:
    @tool
    async def ping() -> str:
        return "pong"

    outcome = await ping.run(args, CONTEXT)
    assert (outcome.content == "pong") == (not args)
    assert not args or "the arguments are: none" in outcome.content
