"""A tool is used when a question plainly fits it, and in doubt none is."""

from typing import Any

import pytest

from threadkeep.llm.base import ToolSpec
from threadkeep_assistants.demo.fitting_tool import fitting_call
from threadkeep_assistants.demo.script import Call


def tool(name: str, *required: str, kind: str = "string", **optional: str) -> ToolSpec:
    properties: dict[str, Any] = {each: {"type": kind} for each in required} | {
        k: {"type": v} for k, v in optional.items()
    }
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description="", parameters=parameters)


CALCULATOR = tool("calculator", "expression")
ADD = tool("add", "a", "b", kind="number")
CLOCK = tool("clock__current_time", timezone="string")
WEATHER = tool("get_weather", "city")
BUDGET = tool("get_budget", "cost_center")
SEND = tool("send_mail", "to", "text")
TOOLS = (CALCULATOR, ADD, CLOCK, WEATHER, BUDGET, SEND)


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("What is 12 * 3.5?", Call("calculator", {"expression": "12 * 3.5"})),
        ("compute 2 × (3+4)", Call("calculator", {"expression": "2 * (3+4)"})),
        ("What time is it?", Call("clock__current_time")),
        ("what's the weather in New York?", Call("get_weather", {"city": "New York"})),
        ('Show the weather in "New York".', Call("get_weather", {"city": "New York"})),
        ("Rain in May! What's the weather in Oslo?!", Call("get_weather", {"city": "Oslo"})),
        ("What is the budget of CC-1001?", Call("get_budget", {"cost_center": "CC-1001"})),
        ('call send_mail with {"to": "a", "text": "b"}', Call("send_mail", {"to": "a", "text": "b"})),
        ("use send_mail {broken}", Call("send_mail")),
    ],
)
def test_a_question_finds_its_tool(question: str, call: Call) -> None:
    assert fitting_call(question, TOOLS) == call


def test_an_operation_on_two_numbers_finds_its_tool() -> None:
    assert fitting_call("what is 2 + 3", (SEND, ADD)) == Call("add", {"a": 2, "b": 3})
    assert fitting_call("what is 2 - 3", (SEND, ADD)) is None


@pytest.mark.parametrize("question", ["Hello", "send a mail", "It is time to go", "", "run unknown {}"])
def test_in_doubt_no_tool_fits(question: str) -> None:
    assert fitting_call(question, TOOLS) is None


def test_without_tools_none_fits() -> None:
    assert fitting_call("What time is it?", ()) is None
