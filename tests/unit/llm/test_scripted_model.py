"""The double of a model is strict: it plays what it was told and fails on everything else."""

import asyncio

import pytest

from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelTimeout
from threadkeep.llm.base import CallPart, Request, Stopped, Text, Used
from threadkeep.testing.scripted_model import ScriptedModel, says, wants

REQUEST = Request(messages=(Message(role=Role.USER, content="Hi"),))


async def test_answers_are_played_in_order_and_requests_recorded() -> None:
    model = ScriptedModel(says("a", "b"), wants(("c1", "add", {"x": 1})))
    first = [delta async for delta in model.stream(REQUEST)]
    second = [delta async for delta in model.stream(REQUEST)]
    assert first == [Text("a"), Text("b"), Used(Usage(input_tokens=10, output_tokens=2)), Stopped("stop")]
    assert second[0] == CallPart(index=0, id="c1", name="add", args='{"x": 1}')
    assert model.requests == [REQUEST, REQUEST]
    assert model.closed == [False, False]
    model.assert_finished()


async def test_a_call_too_many_fails() -> None:
    model = ScriptedModel()
    with pytest.raises(AssertionError, match="once more than expected"):
        await anext(aiter(model.stream(REQUEST)))
    with pytest.raises(AssertionError, match="1 calls"):
        model.assert_finished()


def test_an_answer_that_nobody_asked_for_fails() -> None:
    with pytest.raises(AssertionError, match="1 answers"):
        ScriptedModel(says("a")).assert_finished()


async def test_an_exception_is_raised_at_its_place() -> None:
    model = ScriptedModel([Text("a"), ModelTimeout()])
    stream = aiter(model.stream(REQUEST))
    assert await anext(stream) == Text("a")
    with pytest.raises(ModelTimeout):
        await anext(stream)
    assert model.closed == [False]


async def test_an_event_is_waited_for() -> None:
    event = asyncio.Event()
    model = ScriptedModel([Text("a"), event, Text("b")])
    stream = aiter(model.stream(REQUEST))
    assert await anext(stream) == Text("a")
    waiting = asyncio.ensure_future(anext(stream))
    event.set()
    assert await waiting == Text("b")


async def test_closing_before_the_end_is_recorded() -> None:
    model = ScriptedModel(says("a", "b"))
    stream = model.stream(REQUEST)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert model.closed == [True]
