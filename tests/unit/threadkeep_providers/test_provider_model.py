"""Models that we ask ourselves: how they are set up by name, what they pass on, and that no secret is told."""

import asyncio
import gzip
from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.errors import ContextTooLong, ModelRefused, ModelUnavailable, UnknownModel
from threadkeep.llm.base import Model, Reasoned, Request, Text, ToolSpec
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep_providers.provider_model import ProviderModel

REQUEST = Request(messages=(Message(role=Role.USER, content="Hi"),))
TOGETHER = Played((b"".join(step for step in answers.says("Hel", "lo").steps if isinstance(step, bytes)),))


def model_at(server: OpenAiServer, **options: Any) -> ProviderModel:
    return ProviderModel.named("openai:played", **{"api_key": "sk-test", "base_url": server.url, **options})


async def texts(model: Model, request: Request = REQUEST) -> list[Text]:
    return [delta async for delta in model.stream(request) if isinstance(delta, Text)]


async def test_text_that_comes_together_is_passed_on_together() -> None:
    async with openai_server(TOGETHER) as server:
        assert await texts(model_at(server)) == [Text("Hello")]


async def test_an_answer_that_is_compressed_is_read_as_well() -> None:
    (whole,) = TOGETHER.steps
    assert isinstance(whole, bytes)
    async with openai_server(Played((gzip.compress(whole),), headers={"Content-Encoding": "gzip"})) as server:
        assert await texts(model_at(server)) == [Text("Hello")]


async def test_reasoning_between_tags_is_no_text() -> None:
    async with openai_server(answers.says("<think>Hm.", "</think>", "Hello")) as server:
        deltas = [delta async for delta in model_at(server).stream(REQUEST)]
    assert [delta for delta in deltas if isinstance(delta, Text | Reasoned)] == [Reasoned(text="Hm."), Text("Hello")]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (b'{"error": {"message": "no", "code": 502}}', ModelUnavailable),
        (b'{"error": {"message": "no", "type": "invalid_request_error"}}', ModelRefused),
        (b'{"error": "no"}', ModelUnavailable),
        (b"[]", ModelUnavailable),
        (b'{"choices": [7]}', ModelUnavailable),
        (b'{"choices": [{"delta": {"tool_calls": 7}}]}', ModelUnavailable),
        (b"\xff", ModelUnavailable),
    ],
)
async def test_an_error_or_nonsense_as_an_event_is_one_of_our_errors(event: bytes, kind: type[Exception]) -> None:
    async with openai_server(Played((b"data: " + event + b"\n\n",))) as server:
        with pytest.raises(kind) as caught:
            await texts(model_at(server))
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None


async def test_each_of_several_requests_at_once_has_its_own_tools() -> None:
    waiting = asyncio.Event()

    async def read(_: Attachment) -> bytes:
        await waiting.wait()
        return b"png"

    parts = (Attachment(type="image", file="f", media_type="image/png", size=3),)
    message = Message(role=Role.USER, content="Hi", parts=parts)
    tools = [ToolSpec(name=name, description="", parameters={}) for name in ("one", "two")]
    requests = [Request(messages=(message,), tools=(tool,), read_file=read) for tool in tools]
    async with openai_server(TOGETHER, TOGETHER) as server:
        model = model_at(server)
        asked = [asyncio.create_task(texts(model, request)) for request in requests]
        await asyncio.sleep(0)
        waiting.set()
        await asyncio.gather(*asked)
    assert {body["tools"][0]["function"]["name"] for body in server.requests} == {"one", "two"}


async def test_a_limit_that_the_provider_names_is_remembered() -> None:
    said = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    async with openai_server(answers.fails(400, said)) as server:
        model = model_at(server)
        with pytest.raises(ContextTooLong):
            await texts(model)
    assert model.window == 8192


@pytest.mark.parametrize("place", ["key", "environment", "header", "address"])
async def test_a_secret_that_the_vendor_repeats_is_not_told(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "mango4orchard9"
    async with openai_server(answers.fails(401, f"This is wrong: '{secret}', me:{secret}@host")) as server:
        options: dict[str, dict[str, Any]] = {
            "key": {"api_key": secret},
            "header": {"headers": {"X-Own": secret}},
            "address": {"base_url": server.url.replace("://", f"://me:{secret}@")},
        }
        if place == "environment":
            monkeypatch.setenv("ACME_API_KEY", secret)
        with pytest.raises(ModelRefused) as failed:
            await texts(model_at(server, **options.get(place, {})))
    assert "This is wrong" in str(failed.value)
    assert secret not in str(failed.value)


@pytest.mark.parametrize(
    ("name", "key", "path"),
    [
        ("openai:gpt-6.1-terra", "OPENAI_API_KEY", "/responses"),
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY", "/v1/messages"),
        ("google_genai:gemini-x/y", "GEMINI_API_KEY", "/v1beta/models/gemini-x%2Fy:streamGenerateContent?alt=sse"),
        ("deepseek:deepseek-v4-flash", "DEEPSEEK_API_KEY", "/chat/completions"),
        ("xai:grok-4.5", "XAI_API_KEY", "/chat/completions"),
        ("groq:openai/gpt-oss-120b", "GROQ_API_KEY", "/chat/completions"),
    ],
)
def test_a_name_and_a_key_are_enough(name: str, key: str, path: str) -> None:
    model = ProviderModel.named(name, {key: "k"})
    assert (model.name, model._path) == (name, path)
    with pytest.raises(ModelRefused, match="is not set"):
        ProviderModel.named(name, {})


def test_a_server_of_ones_own_needs_no_key() -> None:
    model = ProviderModel.named("openai:mine", {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"})
    assert model._path == "/chat/completions"


@pytest.mark.parametrize("name", ["mistralai:x", "nobody:x"])
def test_a_provider_that_langchain_asks_is_not_asked_here(name: str) -> None:
    with pytest.raises(UnknownModel):
        ProviderModel.named(name, {})


async def test_the_organisation_and_the_project_of_an_account_are_named() -> None:
    async with openai_server(TOGETHER) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-2"}
        await texts(ProviderModel.named("openai:played", environment))
    (headers,) = server.headers
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-2")
    assert "authorization" not in headers
