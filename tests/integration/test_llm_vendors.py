"""The models of Anthropic, Gemini and Ollama, over a real socket that speaks their protocols."""

import asyncio
import gc
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelUnavailable
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Model, ModelOptions, Reasoned, Request, Text, ToolSpec
from threadkeep.testing.openai_server import CUT, OpenAiServer, Played, openai_server
from threadkeep.testing.providers import anthropic
from threadkeep.testing.providers import gemini as gemini_rules
from threadkeep_integrations.langchain import LangChainModel
from threadkeep_providers.provider_model import ProviderModel

BUDGET = ToolSpec(name="get_budget", description="A budget.", parameters={"type": "object", "properties": {}})
REQUEST = Request(messages=(Message(role=Role.USER, content="Budget?"),), tools=(BUDGET,))
JSON = {"Content-Type": "application/json"}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> tuple[bytes, ...]:
    pieces = (event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return (event("content_block_start", index=index, content_block=first), *pieces)


def line(**fields: Any) -> bytes:
    return json.dumps({"model": "played", "created_at": "2026-01-01T00:00:00Z", **fields}).encode() + b"\n"


START = {"id": "m", "type": "message", "role": "assistant", "model": "played", "stop_reason": None}
CLAUDE_TEXT = (
    event("message_start", message={**START, "content": [], "usage": {"input_tokens": 12, "output_tokens": 1}}),
    *block(
        0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hel"}, {"type": "text_delta", "text": "lo"}
    ),
)
CLAUDE_CALL = (
    event("content_block_stop", index=0),
    *block(
        1,
        {"type": "tool_use", "id": "toolu_1", "name": "get_budget", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"cost_center"'},
        {"type": "input_json_delta", "partial_json": ': "A"}'},
    ),
    event("content_block_stop", index=1),
    event(
        "message_delta",
        delta={"stop_reason": "tool_use", "stop_sequence": None},
        usage={"input_tokens": 12, "output_tokens": 5},
    ),
    event("message_stop"),
)
CLAUDE_ERROR = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).encode()
LLAMA_TEXT = tuple(line(message={"role": "assistant", "content": text}, done=False) for text in ("Hel", "lo"))
CALLED = {"function": {"name": "get_budget", "arguments": {"cost_center": "A"}}}
LLAMA_CALL = (
    line(message={"role": "assistant", "content": "", "tool_calls": [CALLED]}, done=False),
    line(
        message={"role": "assistant", "content": ""}, done=True, done_reason="stop", prompt_eval_count=12, eval_count=5
    ),
)


def contents(*parts: dict[str, Any], **fields: Any) -> bytes:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **fields}
    counts = {"promptTokenCount": 12, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 17}
    return f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': counts})}\r\n\r\n".encode()


GEMINI_TEXT = (contents({"text": "hm", "thought": True}), contents({"text": "Hel"}), contents({"text": "lo"}))
GEMINI_CALL = (
    contents({"functionCall": {"name": "get_budget", "args": {"cost_center": "A"}}}),
    contents({"text": ""}, finishReason="STOP"),
)
GEMINI_ERROR = json.dumps({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}).encode()


def gemini(server: OpenAiServer) -> Model:
    return ProviderModel.named("google_genai:played", api_key="k", base_url=server.url.removesuffix("/v1"))


def claude(server: OpenAiServer) -> Model:
    url = server.url.removesuffix("/v1")
    return ProviderModel.named("anthropic:claude-sonnet-5-5", api_key="sk-ant-test", base_url=url)


def llama(server: OpenAiServer) -> Model:
    return LangChainModel.named("ollama:played", base_url=server.url.removesuffix("/v1"))


Make = Callable[[OpenAiServer], Model]


async def asked(make: Make, answer: Played) -> Answer:
    made = Answer()
    async with openai_server(answer) as server:
        async for delta in make(server).stream(REQUEST):
            made.add(delta)
        assert server.unexpected == 0
    return made


@pytest.mark.parametrize(
    ("make", "steps", "reason"),
    [
        (claude, CLAUDE_TEXT + CLAUDE_CALL, "tool_use"),
        (gemini, GEMINI_TEXT + GEMINI_CALL, "stop"),
        (llama, LLAMA_TEXT + LLAMA_CALL, "stop"),
    ],
)
async def test_text_calls_and_usage_are_streamed(make: Make, steps: tuple[bytes, ...], reason: str) -> None:
    made = await asked(make, Played(steps))
    (call,) = made.calls(lambda: "new")
    assert (made.text, call.name, call.args, made.reason) == ("Hello", "get_budget", {"cost_center": "A"}, reason)
    assert made.usage is not None
    assert (made.usage.input_tokens, made.usage.output_tokens) == (12, 5)


OPTIONS = ModelOptions(temperature=1, max_tokens=100, stop=("END",), reasoning_effort="low")


@pytest.mark.parametrize(
    ("make", "steps", "expected"),
    [
        (claude, CLAUDE_TEXT + CLAUDE_CALL, {"temperature": 1, "max_tokens": 100, "stop_sequences": ["END"]}),
        (gemini, GEMINI_TEXT + GEMINI_CALL, {}),
        (llama, LLAMA_TEXT + LLAMA_CALL, {"think": "low"}),
    ],
)
async def test_options_reach_the_provider(make: Make, steps: tuple[bytes, ...], expected: dict[str, Any]) -> None:
    async with openai_server(Played(steps)) as server:
        async for _ in make(server).stream(replace(REQUEST, options=OPTIONS)):
            pass
    (body,) = server.requests
    assert body.items() >= expected.items()
    if make is claude:
        anthropic.check_body(body)
        assert body["output_config"]["effort"] == "low"
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    elif make is gemini:
        gemini_rules.check_body(body)
        thinking = {"thinkingConfig": {"thinkingLevel": "low"}}
        assert body["generationConfig"] == {
            "temperature": 1,
            "maxOutputTokens": 100,
            "stopSequences": ["END"],
            **thinking,
        }
    else:
        given = {"temperature": 1, "num_predict": 100, "stop": ["END"]}
        assert body["options"].items() >= given.items()


async def test_an_option_that_a_model_does_not_have_is_refused_by_name() -> None:
    async with openai_server(Played(())) as server:
        for options, name in [(ModelOptions(seed=1), "seed"), (ModelOptions(top_p=0.9), "top_p")]:
            with pytest.raises(ModelRefused, match=rf"claude-sonnet-5-5 takes no option {name}\."):
                async for _ in claude(server).stream(replace(REQUEST, options=options)):
                    pass
    assert server.requests == []


@pytest.mark.parametrize(
    ("make", "path", "header"),
    [
        (claude, "/v1/messages", ("authorization", "Bearer sk-ant-test")),
        (gemini, "/v1beta/models/played:streamGenerateContent?alt=sse", ("x-goog-api-key", "k")),
    ],
)
async def test_each_provider_is_asked_where_and_with_the_key_it_wants(
    make: Make, path: str, header: tuple[str, str]
) -> None:
    async with openai_server(Played(CLAUDE_TEXT + CLAUDE_CALL if make is claude else GEMINI_TEXT)) as server:
        [_ async for _ in make(server).stream(REQUEST)]
    assert server.paths == [path]
    assert header in server.headers[0].items()


@pytest.mark.parametrize(
    ("make", "answer", "kind"),
    [
        (claude, Played((CLAUDE_ERROR,), 529, JSON), ModelUnavailable),
        (claude, Played((CLAUDE_ERROR,), 401, JSON), ModelRefused),
        (claude, Played((CLAUDE_ERROR,), 413, JSON), ContextTooLong),
        (claude, Played((*CLAUDE_TEXT, b"event: error\ndata: " + CLAUDE_ERROR + b"\n\n")), ModelUnavailable),
        (claude, Played((*CLAUDE_TEXT, CUT)), ModelUnavailable),
        (claude, Played(()), ModelUnavailable),
        (gemini, Played((GEMINI_ERROR,), 503, JSON), ModelUnavailable),
        (gemini, Played((b"<html>",), 400, JSON), ModelRefused),
        (gemini, Played((*GEMINI_TEXT, b"data: " + GEMINI_ERROR + b"\n\n")), ModelUnavailable),
        (gemini, Played((*GEMINI_TEXT, CUT)), ModelUnavailable),
        (gemini, Played(()), ModelUnavailable),
        (llama, Played((b'{"error": "no such model"}',), 404, JSON), ModelRefused),
        (llama, Played((b'{"error": "out of memory"}',), 500, JSON), ModelUnavailable),
        (llama, Played((*LLAMA_TEXT, CUT)), ModelUnavailable),
        (llama, Played((*LLAMA_TEXT, b'{"error": "out of memory"}\n')), ModelUnavailable),
        (llama, Played((b"\xff garbage\n",)), ModelUnavailable),
    ],
)
async def test_every_failure_is_one_of_our_errors(make: Make, answer: Played, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        await asked(make, answer)
    assert type(caught.value) is kind


@pytest.mark.parametrize(("make", "body"), [(claude, CLAUDE_ERROR), (gemini, GEMINI_ERROR)])
async def test_a_rate_limit_tells_how_long_to_wait(make: Make, body: bytes) -> None:
    with pytest.raises(ModelRateLimited) as caught:
        await asked(make, Played((body,), 429, {**JSON, "Retry-After": "3"}))
    assert caught.value.retry_after == 3


@pytest.mark.parametrize(("make", "steps"), [(claude, CLAUDE_TEXT), (gemini, GEMINI_TEXT), (llama, LLAMA_TEXT)])
async def test_a_stream_that_ends_without_a_reason_was_cut_off(make: Make, steps: tuple[bytes, ...]) -> None:
    made = await asked(make, Played(steps))
    assert (made.text, made.reason) == ("Hello", None)


@pytest.mark.parametrize(("make", "steps"), [(claude, CLAUDE_TEXT), (gemini, GEMINI_TEXT), (llama, LLAMA_TEXT)])
async def test_closing_the_stream_hangs_up_at_once(make: Make, steps: tuple[bytes, ...]) -> None:
    gc.disable()
    try:
        async with openai_server(Played((*steps, asyncio.Event()))) as server, asyncio.timeout(5):
            stream = make(server).stream(REQUEST)
            assert isinstance(await anext(stream), Text | Reasoned)
            await stream.aclose()  # type: ignore[attr-defined]
            await server.hung_up.wait()
    finally:
        gc.enable()


@pytest.mark.parametrize(("make", "steps"), [(claude, CLAUDE_TEXT + CLAUDE_CALL), (gemini, GEMINI_TEXT + GEMINI_CALL)])
async def test_text_that_comes_together_is_passed_on_together(make: Make, steps: tuple[bytes, ...]) -> None:
    async with openai_server(Played((b"".join(steps),))) as server:
        texts = [delta async for delta in make(server).stream(REQUEST) if isinstance(delta, Text)]
    assert texts == [Text("Hello")]
