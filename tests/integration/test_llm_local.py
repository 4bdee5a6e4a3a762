"""The real small model, in this process. Installed by `make test`."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import ModelRefused, UnknownModel
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Model, ModelOptions, Request, Text
from threadkeep.llm.loading import NO_REAL_MODELS, load_model
from threadkeep_integrations.local import LocalModel

REQUEST = Request(messages=(Message(role=Role.USER, content="Say hello in one short sentence."),))


@pytest.fixture(scope="module")
def local() -> LocalModel:
    model = load_model("local", environment={NO_REAL_MODELS: "1"})
    assert isinstance(model, LocalModel)
    return model


async def asked(model: Model, request: Request = REQUEST) -> Answer:
    made = Answer()
    async for delta in model.stream(request):
        made.add(delta)
    return made


async def test_it_streams_real_text_offline(local: LocalModel) -> None:
    made = await asked(local)
    assert made.text.strip()
    assert made.reason in ("stop", "length")
    assert made.usage is not None
    assert made.usage.input_tokens > 5
    assert made.usage.output_tokens > 0


def test_its_window_is_the_one_of_its_weights(local: LocalModel) -> None:
    assert (local.name, local.window, local.is_scripted) == ("local", 8192, False)


async def test_closing_stops_it_and_the_next_request_is_answered(local: LocalModel) -> None:
    endless = Request(messages=(Message(role=Role.USER, content="Count from one to one thousand, in words."),))
    async with asyncio.timeout(60):
        stream = local.stream(endless)
        assert isinstance(await anext(stream), Text)
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await asked(local)).text


async def test_a_request_beyond_its_window_is_refused(local: LocalModel) -> None:
    with pytest.raises(ModelRefused, match="8192"):
        await asked(local, Request(messages=(Message(role=Role.USER, content="word " * 9000),)))


async def test_its_options_are_heard(local: LocalModel) -> None:
    options = ModelOptions(temperature=0, seed=1, max_tokens=3)
    first = await asked(local, replace(REQUEST, options=options))
    assert (first.reason, first.usage and first.usage.output_tokens) == ("length", 3)
    assert (await asked(local, replace(REQUEST, options=options))).text == first.text
    with pytest.raises(ModelRefused, match="takes no option reasoning_effort"):
        await asked(local, replace(REQUEST, options=ModelOptions(reasoning_effort="low")))


async def test_a_history_with_tools_from_another_model_is_told_in_words(local: LocalModel) -> None:
    call = ToolCall(id="c1", name="get_budget", args={"cost_center": "CC-1001"})
    history = (
        Message(role=Role.USER, content="What is the budget?"),
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
        Message(role=Role.TOOL, content="50000", tool_result=ToolResult(tool_call_id="c1")),
        Message(role=Role.ASSISTANT, content="50,000."),
        Message(role=Role.USER, content="Thank you."),
    )
    assert (await asked(local, Request(messages=history))).reason is not None


async def test_what_one_asked_cannot_be_told_from_what_another_is_charged(local: LocalModel) -> None:
    secret = Message(role=Role.USER, content="The password of tenant one is mango. Say it.")
    for _ in range(2):
        made = await asked(local, Request(messages=(secret,), options=ModelOptions(max_tokens=1)))
        assert made.usage is not None
        assert made.usage.cached_tokens == 0


def test_nobody_but_this_process_can_ask_it(local: LocalModel) -> None:
    address = str(local._server.listening_address)
    assert address.startswith("unix://")
    assert not Path(address.removeprefix("unix://")).parent.exists()


def test_another_file_must_be_a_model(local: LocalModel) -> None:
    with pytest.raises(UnknownModel):
        load_model("local:/nowhere/model.gguf", environment={})
