"""The registry: tools by name, one of each.

Running calls: every call ends in an outcome, in parallel and as soon as it is there.
"""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tools.samples import CONTEXT, Named, call
from threadkeep.errors import InvalidValue, LeaseLost
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import AT_ONCE, Registry, run_call, run_calls, shorten


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


def test_a_function_that_is_no_tool_is_told_by_its_name() -> None:
    with pytest.raises(InvalidValue, match=r"samples:call is no tool; is there a @tool on top of it"):
        Registry([call])  # type: ignore[list-item]


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


@tool
async def echo(text: str, context: ToolContext) -> str:
    """Return the text and the id of the call."""
    return f"{context.call_id}: {text}"


async def test_a_call_runs_under_its_own_id() -> None:
    outcome = await run_call(Registry([echo]), call("echo", id="call_9", text="hi"), CONTEXT)
    assert outcome.content == "call_9: hi"


async def test_a_call_of_an_unknown_tool_is_an_error_for_the_model() -> None:
    outcome = await run_call(Registry([echo]), call("ecko"), CONTEXT)
    assert outcome.error is not None
    assert "Did you mean echo?" in outcome.error


async def test_a_call_whose_arguments_could_not_be_read_does_not_run() -> None:
    registry = Registry([Named("bomb", AssertionError("it ran"))])
    outcome = await run_call(registry, call("bomb"), CONTEXT, flaw="The arguments are not valid JSON: oops")
    assert outcome.error == outcome.content == "The arguments are not valid JSON: oops"


async def test_a_call_of_a_turn_that_is_not_ours_any_more_does_not_run() -> None:
    async def lost() -> None:
        raise LeaseLost

    registry = Registry([Named("bomb", AssertionError("it ran"))])
    with pytest.raises(LeaseLost):
        await run_call(registry, call("bomb"), replace(CONTEXT, confirm=lost))


async def test_a_tool_that_breaks_its_promise_and_raises_is_an_error_too() -> None:
    outcome = await run_call(Registry([Named("broken", RuntimeError("mine"))]), call("broken"), CONTEXT)
    assert outcome.error == "RuntimeError: mine"


async def test_a_tool_that_returns_what_no_store_can_keep_is_corrected() -> None:
    registry = Registry([Named("broken", ToolOutcome(content="\ud800"))])
    assert (await run_call(registry, call("broken"), CONTEXT)).content == "?"


async def test_calls_run_at_the_same_time_and_come_as_they_finish() -> None:
    both = asyncio.Barrier(2)
    first_is_out = asyncio.Event()

    @tool
    async def meet(name: str) -> str:
        await both.wait()
        if name == "slow":
            await first_is_out.wait()
        return name

    seen = []
    async for ended, outcome in run_calls(
        Registry([meet]), [call("meet", id="1", name="slow"), call("meet", id="2", name="fast")], CONTEXT
    ):
        seen.append((ended.id, outcome.content))
        first_is_out.set()
    assert seen == [("2", "fast"), ("1", "slow")]


async def test_one_failure_does_not_touch_the_other_calls() -> None:
    registry = Registry([echo, Named("broken", RuntimeError("mine"))])
    calls = [call("broken", id="1"), call("echo", id="2", text="hi"), call("nope", id="3"), call("echo", id="4")]
    ended = {each.id: outcome async for each, outcome in run_calls(registry, calls, CONTEXT, {"4": "cut off"})}
    assert {id: outcome.error is None for id, outcome in ended.items()} == {
        "1": False,
        "2": True,
        "3": False,
        "4": False,
    }
    assert ended["4"].error == "cut off"


async def test_closing_the_iterator_cancels_what_is_still_running() -> None:
    cancelled = []

    @tool
    async def forever(name: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)
        return "never"

    registry = Registry([forever, Named("quick")])
    calls = [call("forever", id="1", name="a"), call("quick", id="2"), call("forever", id="3", name="b")]
    async with aclosing(run_calls(registry, calls, CONTEXT)) as outcomes:
        async for ended, _ in outcomes:
            assert ended.id == "2"
            break
    assert sorted(cancelled) == ["a", "b"]


async def test_no_more_calls_than_agreed_run_at_once() -> None:
    running, most = 0, 0
    full = asyncio.Event()

    @tool
    async def count() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == AT_ONCE:
            full.set()
        await full.wait()
        running -= 1
        return ""

    calls = [call("count", id=str(number)) for number in range(AT_ONCE * 2)]
    outcomes = [outcome async for _, outcome in run_calls(Registry([count]), calls, CONTEXT)]
    assert len(outcomes) == AT_ONCE * 2
    assert most == AT_ONCE


async def test_no_calls_are_no_outcomes() -> None:
    assert [each async for each in run_calls(Registry(), [], CONTEXT)] == []


async def test_duration_is_measured_and_not_believed() -> None:
    registry = Registry([Named("liar", ToolOutcome(content="", duration_ms=10**9))])
    outcome = await run_call(registry, call("liar"), CONTEXT)
    assert outcome.duration_ms < 10**6
    assert replace(outcome, duration_ms=0) == ToolOutcome(content="")


def test_a_short_text_is_not_shortened() -> None:
    assert shorten("short", limit=5) == "short"


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    short = shorten(text, limit=1000)
    assert short.startswith("line 0\nline 1\n")
    assert short.endswith("line 9999\n")
    assert "of 98,890 characters left out here" in short


@pytest.mark.parametrize("limit", [0, 1, 40])
def test_a_limit_that_is_too_small_leaves_the_remark(limit: int) -> None:
    assert shorten("x" * 100, limit) == "\n[… 100 of 100 characters left out here …]\n"


@given(st.integers(100, 3000), st.integers(0, 20_000))
def test_what_was_left_out_is_counted_right_and_the_limit_holds(limit: int, size: int) -> None:
    text = "x" * size
    short = shorten(text, limit)
    assert len(short) <= limit
    if short != text:
        left_out = int(short.split("[… ")[1].split(" ")[0].replace(",", ""))
        assert short.count("x") + left_out == size + "characters left out here".count("x")
