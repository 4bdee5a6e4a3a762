"""Asking the model: when it is asked again, what is made of an early end, and how changes of state add up."""

import asyncio

import pytest

from tests.unit.turn.begun import begun
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, Step, says
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.agent import Changed
from threadkeep.turn.steps.gather_context import gather_context
from threadkeep.turn.steps.generate import Generated, ModelOutput, generate


async def generated(*answers: list[Step]) -> tuple[ActiveTurn, Generated]:
    active = await begun(ScriptedModel(*answers))
    return active, await generate(active, await gather_context(active, (), tools=True, share=1.0), tools=True)


async def test_a_model_that_fails_before_it_speaks_is_asked_again_and_then_given_up() -> None:
    _, made = await generated([ModelUnavailable("busy")], says("Here I am."))
    assert (made.is_whole, made.message and made.message.content) == (True, "Here I am.")
    _, made = await generated([ModelUnavailable("busy")], [ModelUnavailable("still busy")])
    assert (made.message, made.is_whole, str(made.error)) == (None, False, "still busy")


async def test_an_answer_that_breaks_off_is_given_back_and_may_go_on() -> None:
    _, made = await generated([Text("Half a "), ModelUnavailable("gone")])
    assert made.message is not None
    assert (made.message.content, made.is_whole, made.may_go_on) == ("Half a ", False, True)


@pytest.mark.parametrize(("word", "reason"), [("MAX_TOKENS", "length"), ("content_filter", "filter"), ("stop", None)])
async def test_the_trace_tells_why_an_answer_ended_early(word: str, reason: str | None) -> None:
    _, made = await generated([Text("Well"), Stopped(word)])
    assert made.message is not None
    endings = [item["reason"] for item in made.message.tool_trace if item["kind"] == "ending"]
    assert endings == ([reason] if reason else [])


async def test_who_stops_the_turn_gets_no_whole_answer() -> None:
    active = await begun(ScriptedModel([Text("Half"), asyncio.Event()]))
    context = await gather_context(active, (), tools=True, share=1.0)
    active.stop.set()
    made = await generate(active, context, tools=True)
    assert (made.stopped, made.is_whole) == (True, False)


def test_what_is_set_later_is_not_removed_and_what_is_removed_later_is_not_set() -> None:
    output = ModelOutput()
    for changed in (Changed(set={"a": 1, "b": 1}), Changed(unset=("a",)), Changed(set={"c": 2}, unset=("b",))):
        output.add(changed)
    output.add(Changed(set={"a": 3}))
    assert (output.set, tuple(output.unset)) == ({"c": 2, "a": 3}, ("b",))
