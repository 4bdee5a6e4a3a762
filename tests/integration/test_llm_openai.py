"""Models in OpenAI's forms against a server that speaks OpenAI's protocol over a real socket, well and badly."""

import asyncio
import gc
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelTimeout, ModelUnavailable
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Model, ModelOptions, Request, Stopped, Text, ToolSpec, Used
from threadkeep.llm.loading import NO_REAL_MODELS, load_model
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep.testing.providers import openai
from threadkeep_providers.openai import Responses
from threadkeep_providers.provider_model import ProviderModel

BUDGET = ToolSpec(
    name="get_budget",
    description="The budget of a cost centre.",
    parameters={"type": "object", "properties": {"cost_center": {"type": "string"}}, "required": ["cost_center"]},
)
REQUEST = Request(messages=(Message(role=Role.USER, content="Budget of CC-1001?"),), tools=(BUDGET,))


def model_at(server: OpenAiServer, patience: float = 60) -> Model:
    key = "sk-secret-of-the-test"
    return ProviderModel.named("openai:played", api_key=key, base_url=server.url, silence=patience)


def by_responses(server: OpenAiServer, name: str = "openai:played") -> Model:
    return ProviderModel.named(name, api_key="sk-test", base_url=server.url, form=Responses())


async def asked(answer: Played, request: Request = REQUEST) -> Answer:
    """Ask once and put the answer together; nothing may be asked twice."""
    made = Answer()
    async with openai_server(answer) as server:
        async for delta in model_at(server).stream(request):
            made.add(delta)
        assert server.unexpected == 0
    return made


async def test_text_and_usage_and_the_end_are_streamed() -> None:
    async with openai_server(answers.says("Hel", "lo")) as server:
        deltas = [delta async for delta in model_at(server).stream(REQUEST)]
    usage = Usage(input_tokens=12, output_tokens=5, cached_tokens=8)
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)) == "Hello"
    assert deltas[-2:] == [Used(usage), Stopped("stop")]


OPTIONS = ModelOptions(temperature=0.5, top_p=0.9, max_tokens=100, stop=("END",), seed=7, reasoning_effort="low")


async def test_options_reach_the_provider() -> None:
    async with openai_server(answers.says("Hello")) as server:
        async for _ in model_at(server).stream(replace(REQUEST, options=OPTIONS)):
            pass
    (body,) = server.requests
    openai.check_body(body)
    expected = openai.body_of(replace(REQUEST, options=OPTIONS))
    assert {name: body.get(name) for name in expected.keys() - {"messages", "tools"}} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 100,
        "stop": ["END"],
        "seed": 7,
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize("option", [{"seed": 7}, {"stop": "END"}])
async def test_an_option_that_the_provider_does_not_have_is_refused_by_name(option: dict[str, Any]) -> None:
    async with openai_server(answers.says("Hello")) as server:
        with pytest.raises(ModelRefused, match=f"takes no option {next(iter(option))}"):
            async for _ in by_responses(server).stream(replace(REQUEST, options=ModelOptions(**option))):
                pass
    assert server.requests == []


async def test_text_arrives_before_the_answer_ends() -> None:
    more = asyncio.Event()
    async with openai_server(answers.hangs("Hel", until=more)) as server:
        stream = aiter(model_at(server).stream(REQUEST))
        assert await anext(stream) == Text("Hel")
        more.set()
        assert await anext(stream) == Stopped("stop")


async def test_tool_calls_are_put_together() -> None:
    made = await asked(answers.wants(("c1", "get_budget", '{"cost_center": "A"}'), ("c2", "get_budget", "{}")))
    assert [(call.id, call.args) for call in made.calls(lambda: "new")] == [("c1", {"cost_center": "A"}), ("c2", {})]
    assert made.reason == "tool_calls"


async def test_the_history_and_the_tools_are_sent_as_openai_wants_them() -> None:
    call = ToolCall(id="c1", name="get_budget", args={"cost_center": "CC-1001"})
    history = (
        Message(role=Role.SYSTEM, content="Be brief."),
        Message(role=Role.USER, content="Budget of CC-1001?"),
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
        Message(role=Role.TOOL, content='{"budget": 50000}', tool_result=ToolResult(tool_call_id="c1")),
    )
    async with openai_server(answers.says("50,000.")) as server:
        [_ async for _ in model_at(server).stream(Request(messages=history, tools=(BUDGET,)))]
        (sent,) = server.requests
    system, user, assistant, tool = sent["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == "c1"
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"cost_center": "CC-1001"}
    assert tool["content"] == '{"budget": 50000}'
    assert sent["tools"][0]["function"]["name"] == "get_budget"
    assert sent["stream_options"] == {"include_usage": True}


async def test_a_request_without_tools_offers_none() -> None:
    async with openai_server(answers.says("Hi")) as server:
        [_ async for _ in model_at(server).stream(Request(messages=REQUEST.messages))]
        assert "tools" not in server.requests[0]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (answers.fails(429), ModelRateLimited),
        (answers.fails(500), ModelUnavailable),
        (answers.fails(503), ModelUnavailable),
        (answers.fails(408), ModelUnavailable),
        *((answers.fails(status), ModelRefused) for status in (400, 401, 403, 404, 422)),
        (answers.fails(413), ContextTooLong),
        (answers.fails_in_stream(), ModelUnavailable),
        (answers.cut_in_text(), ModelUnavailable),
        (answers.cut_in_arguments(), ModelUnavailable),
        (answers.nothing(), ModelUnavailable),
        (answers.garbage(), ModelUnavailable),
    ],
)
async def test_every_failure_is_one_of_our_errors_and_is_not_retried(answer: Played, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        await asked(answer)
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None


async def test_a_rate_limit_tells_how_long_to_wait() -> None:
    with pytest.raises(ModelRateLimited) as caught:
        await asked(answers.fails(429, Retry_After="7"))
    assert caught.value.retry_after == 7


async def test_a_key_that_the_provider_quotes_is_not_in_the_message() -> None:
    with pytest.raises(ModelRefused) as caught:
        await asked(answers.fails(401, "Incorrect API key provided: sk-secret-of-the-test"))
    assert "secret" not in str(caught.value)
    assert "API key" in str(caught.value)


async def test_a_provider_that_falls_silent_is_a_timeout() -> None:
    async with openai_server(answers.hangs("Hel")) as server:
        stream = aiter(model_at(server, patience=0.2).stream(REQUEST))
        assert await anext(stream) == Text("Hel")
        with pytest.raises(ModelTimeout):
            await anext(stream)


async def test_a_provider_that_is_not_there_is_unavailable() -> None:
    async with openai_server() as server:
        model = model_at(server)
    with pytest.raises(ModelUnavailable):
        [_ async for _ in model.stream(REQUEST)]


async def test_a_stream_that_ends_without_a_reason_was_cut_off() -> None:
    made = await asked(answers.ends_in_arguments())
    assert made.reason is None


async def test_two_calls_with_one_id_stay_two_calls() -> None:
    made = await asked(answers.two_calls_one_id())
    assert [(call.id, call.args["cost_center"]) for call in made.calls(lambda: "2")] == [
        ("call_1", "A"),
        ("call_2", "B"),
    ]


async def test_an_unknown_tool_is_passed_on_for_the_engine_to_refuse() -> None:
    made = await asked(answers.wants(("c1", "launch_rocket", "{}")))
    assert [call.name for call in made.calls(lambda: "new")] == ["launch_rocket"]


async def test_invalid_arguments_are_a_flaw_of_the_call() -> None:
    made = await asked(answers.invalid_arguments())
    (call,) = made.calls(lambda: "new")
    assert call.args == {}
    assert call.id in made.flaws


async def test_an_empty_answer_ends_in_an_orderly_way() -> None:
    made = await asked(answers.empty())
    assert (made.text, made.reason) == ("", "stop")


async def test_no_usage_is_no_usage() -> None:
    made = await asked(answers.says("Hi", with_usage=False))
    assert made.usage is None


async def test_ten_megabytes_are_taken() -> None:
    made = await asked(answers.huge(10))
    assert len(made.text) == 10 * 1024 * 1024


@pytest.mark.parametrize("request_of", [lambda: REQUEST, lambda: Request(messages=REQUEST.messages)])
async def test_closing_the_stream_hangs_up_at_once(request_of: Callable[[], Request]) -> None:
    gc.disable()
    try:
        async with openai_server(answers.hangs("Hel", "lo")) as server, asyncio.timeout(5):
            stream = model_at(server).stream(request_of())
            await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            await server.hung_up.wait()
    finally:
        gc.enable()


async def test_cancelling_whoever_waits_for_the_stream_hangs_up_at_once() -> None:
    async with openai_server(answers.hangs("Hel")) as server, asyncio.timeout(5):
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in model_at(server).stream(REQUEST):
                heard.set()

        listening = asyncio.create_task(listen())
        await heard.wait()
        listening.cancel()
        await server.hung_up.wait()
        with pytest.raises(asyncio.CancelledError):
            await listening


async def test_a_model_is_found_by_name_and_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async with openai_server(answers.says("Hi")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        model = load_model("openai:played", environment={NO_REAL_MODELS: "1", "OPENAI_BASE_URL": server.url})
        deltas = [delta async for delta in model.stream(REQUEST)]
        assert server.paths == ["/v1/chat/completions"]
    assert deltas[0] == Text("Hi")
    assert deltas[-1] == Stopped("stop")


async def test_openai_itself_is_asked_by_the_responses_api_and_keeps_nothing() -> None:
    assert ProviderModel.named("openai:gpt-6.1-terra", {}, api_key="sk-test")._path == "/responses"
    async with openai_server(answers.responds("Hi")) as server:
        options = ModelOptions(max_tokens=1, temperature=1, reasoning_effort="low")
        [_ async for _ in by_responses(server, "openai:gpt-6.1-terra").stream(replace(REQUEST, options=options))]
    (body,) = server.requests
    given = {name: value for name, value in body.items() if name not in ("input", "tools")}
    assert given == {
        "model": "gpt-6.1-terra",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
        "max_output_tokens": 16,
    }
    assert body["tools"] == [
        {"type": "function", "name": "get_budget", "description": BUDGET.description, "parameters": BUDGET.parameters}
    ]


async def test_the_responses_api_streams_the_same_deltas() -> None:
    async with openai_server(answers.responds("Hel", "lo")) as server:
        deltas = [delta async for delta in by_responses(server).stream(REQUEST)]
        assert server.paths == ["/v1/responses"]
    usage = Usage(input_tokens=12, output_tokens=5, cached_tokens=8)
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)) == "Hello"
    assert deltas[-2:] == [Used(usage), Stopped("stop")]
