"""`@tool`: what becomes of a function, and how a call of it ends."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tests.unit.tools.samples import CONTEXT
from threadkeep.errors import InvalidValue
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import tool


class Place(BaseModel):
    """A place on earth."""

    latitude: float
    longitude: float = 0.0


@tool
async def weather(
    city: str, place: Place, context: ToolContext, days: Annotated[int, Field(ge=1, description="How many days")] = 1
) -> dict[str, Any]:
    """The weather of a city,
    for some days.

    This is for people who read the code.

    Args:
        city: Which city.
        days: This loses against the Field.
    """
    return {"place": place, "days": days, "city": city, "call": context.call_id}


def test_name_and_description_come_from_the_function() -> None:
    assert weather.spec.name == "weather"
    assert weather.spec.description == "The weather of a city, for some days."


def test_the_schema_comes_from_the_types_and_the_context_is_not_in_it() -> None:
    assert weather.spec.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Which city."},
            "place": {"$ref": "#/$defs/Place"},
            "days": {"type": "integer", "minimum": 1, "default": 1, "description": "How many days"},
        },
        "required": ["city", "place"],
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "type": "object",
                "title": "Place",
                "description": "A place on earth.",
                "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number", "default": 0.0}},
                "required": ["latitude"],
            }
        },
    }


async def test_a_call_gets_checked_arguments_and_the_context() -> None:
    outcome = await weather.run({"city": "Bergen", "place": {"latitude": 60.4}}, CONTEXT)
    assert outcome.error is None
    assert outcome.content == '{"call":"call_1","city":"Bergen","days":1,"place":{"latitude":60.4,"longitude":0.0}}'


def test_the_options_are_those_of_the_tool() -> None:
    @tool(name="wipe-disk", repeatable=True, needs_approval=True)
    def wipe() -> str:
        return "wiped"

    assert (wipe.spec.name, wipe.repeatable, wipe.needs_approval) == ("wipe-disk", True, True)
    assert (weather.repeatable, weather.needs_approval) == (False, False)
    assert wipe.function() == "wiped"


async def test_arguments_may_have_names_that_pydantic_uses_itself() -> None:
    @tool
    def odd(schema: int, model_config: str, copy: int, _hidden: int = 1, /, *, json: str) -> list[Any]:
        return [schema, model_config, copy, _hidden, json]

    outcome = await odd.run({"schema": 1, "model_config": "m", "copy": 2, "json": "j"}, CONTEXT)
    assert outcome.content == '[1,"m",2,1,"j"]'


async def test_a_bound_method_can_be_a_tool() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        async def raise_by(self, amount: int) -> int:
            """Raise the counter."""
            self.count += amount
            return self.count

    counter = Counter()
    assert (await tool(counter.raise_by).run({"amount": 3}, CONTEXT)).content == "3"
    assert counter.count == 3


async def test_a_synchronous_function_runs_in_another_thread_with_the_same_context_variables() -> None:
    variable = contextvars.ContextVar("variable", default="default")
    variable.set("set")

    @tool
    def where() -> list[Any]:
        return [threading.current_thread() is threading.main_thread(), variable.get()]

    assert (await where.run({}, CONTEXT)).content == '[false,"set"]'


async def test_an_asynchronous_function_that_takes_too_long_ends_with_an_error() -> None:
    stopped = asyncio.Event()

    @tool(timeout=0.01)
    async def slow() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    outcome = await slow.run({}, CONTEXT)
    assert outcome.error is not None
    assert "did not finish within 0.01 seconds" in outcome.error
    assert outcome.duration_ms >= 10
    assert stopped.is_set()


async def test_a_synchronous_function_that_hangs_does_not_keep_its_caller() -> None:
    go_on = threading.Event()

    @tool(timeout=0.01)
    def slow() -> str:
        go_on.wait()
        return "late"

    outcome = await slow.run({}, CONTEXT)
    go_on.set()
    assert outcome.error is not None
    assert "did not finish" in outcome.error


async def test_a_tool_without_a_limit_of_its_own_has_that_of_its_context() -> None:
    @tool
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    outcome = await slow.run({}, replace(CONTEXT, timeout=0.01))
    assert outcome.error is not None
    assert outcome.error.startswith("tool_timeout: The call did not finish within 0.01 seconds.")


async def test_a_timeout_that_the_function_raised_itself_is_told_as_its_own() -> None:
    @tool
    async def impatient() -> str:
        raise TimeoutError("the database did not answer")

    assert (await impatient.run({}, CONTEXT)).error == "TimeoutError: the database did not answer"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (InvalidValue("There is no city of that name."), "There is no city of that name."),
        (KeyError(), "KeyError"),
        (SystemExit(2), "SystemExit: 2"),
        (StopIteration("done"), "RuntimeError: coroutine raised StopIteration"),
        (asyncio.CancelledError("an inner task"), "CancelledError: an inner task"),
    ],
)
async def test_an_exception_becomes_an_outcome_without_a_stack_trace(error: BaseException, told: str) -> None:
    @tool
    def fails() -> str:
        raise error

    outcome = await fails.run({}, CONTEXT)
    assert (outcome.error, outcome.content) == (told, told)


async def test_the_stack_trace_is_in_the_debug_log(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def fails() -> str:
        raise ValueError("deep inside")

    with caplog.at_level(logging.DEBUG, "threadkeep.tools"):
        await fails.run({}, CONTEXT)
    assert "deep inside" in caplog.text
    assert "Traceback" in caplog.text


async def test_a_cancellation_from_outside_goes_through() -> None:
    running = asyncio.Event()

    @tool
    async def waits() -> str:
        running.set()
        await asyncio.Event().wait()
        return "never"

    task = asyncio.create_task(waits.run({}, CONTEXT))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_parameter_without_a_type_is_refused() -> None:
    def untyped(city) -> str:  # type: ignore[no-untyped-def]
        return str(city)

    with pytest.raises(InvalidValue, match="parameter city of the tool untyped needs a type"):
        tool(untyped)


def test_a_function_that_takes_anything_is_refused() -> None:
    def greedy(**anything: int) -> str:
        return str(anything)

    with pytest.raises(InvalidValue, match="cannot have"):
        tool(greedy)


@pytest.mark.parametrize("kind", [threading.Lock, Iterator[threading.Thread]])
def test_a_type_that_json_cannot_carry_is_refused(kind: Any) -> None:
    def takes(thing: Any) -> str:
        return str(thing)

    takes.__annotations__["thing"] = kind
    with pytest.raises(InvalidValue, match="has no JSON form"):
        tool(takes)


def test_a_type_that_cannot_be_found_is_refused() -> None:
    def takes(thing: Any) -> str:
        return str(thing)

    takes.__annotations__["thing"] = "Missing"
    with pytest.raises(InvalidValue, match="cannot be found"):
        tool(takes)


@pytest.mark.parametrize("name", ["", "with space", "ünïcode", "9lives", "x" * 65, "a.b"])
def test_a_name_that_a_provider_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="cannot be the name of a tool"):
        tool(name=name)(lambda: "")


def test_a_generator_is_refused() -> None:
    async def stream() -> AsyncIterator[str]:
        yield "a"

    with pytest.raises(InvalidValue, match="generator"):
        tool(stream)
