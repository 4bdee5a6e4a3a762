"""Which models are streamed past LangChain, and that the others, and what cannot be prepared, go through it."""

import gzip
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_openai import ChatOpenAI

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import Request, Text
from threadkeep.llm.langchain import LangChainModel
from threadkeep.llm.langchain.direct import DirectChat, Vendor, direct
from threadkeep.llm.langchain.transport import Transport
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server

REQUEST = Request(messages=(Message(role=Role.USER, content="Hi"),))
TOGETHER = Played((b"".join(step for step in answers.says("Hel", "lo").steps if isinstance(step, bytes)),))


class OwnChat(ChatOpenAI):
    """A class of a user, which may do anything with its chunks."""


def chat_at(server: OpenAiServer | None = None, kind: type[ChatOpenAI] = ChatOpenAI, **options: Any) -> BaseChatModel:
    fixed = {"base_url": server.url if server else "http://far.invalid/v1", "model": "played", "max_retries": 0}
    return kind(**{"api_key": "sk-test", **fixed, **options})


async def texts(model: LangChainModel) -> list[Text]:
    return [delta async for delta in model.stream(REQUEST) if isinstance(delta, Text)]


async def test_text_that_comes_together_is_passed_on_together() -> None:
    async with openai_server(TOGETHER) as server:
        assert await texts(LangChainModel(chat_at(server))) == [Text("Hello")]


async def test_a_class_of_a_user_is_streamed_through_langchain() -> None:
    async with openai_server(TOGETHER) as server:
        assert await texts(LangChainModel(chat_at(server, OwnChat))) == [Text("Hel"), Text("lo")]


async def test_where_tracing_is_on_langchain_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep.llm.langchain.direct.tracing_is_enabled", lambda: True)
    async with openai_server(TOGETHER) as server:
        assert await texts(LangChainModel(chat_at(server))) == [Text("Hel"), Text("lo")]


async def test_what_langchain_does_not_offer_any_more_is_left_to_it() -> None:
    async def changed(*_: object) -> Any:
        raise AttributeError("_get_request_payload")

    chat = chat_at()
    asked = DirectChat(chat, Vendor(changed, lambda chat: (None, None)))
    assert await asked.prepared(chat, [], {}) is None
    assert asked.detour == "the request could not be prepared (AttributeError)"


@pytest.mark.parametrize("options", [{"callbacks": [BaseCallbackHandler()]}, {"disable_streaming": True}])
async def test_what_only_langchain_does_is_left_to_it(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    chat = chat_at(**options)
    found = direct(chat)
    assert found
    for _ in range(2):
        assert await found.prepared(chat, [], {}) is None
    assert found.detour == f"only LangChain knows {next(iter(options))}"
    assert caplog.messages == [f"ChatOpenAI is streamed in a slower way: {found.detour}"]


def test_other_providers_are_left_to_langchain() -> None:
    assert direct(GenericFakeChatModel(messages=iter([]))) is None


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with openai_server(TOGETHER) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        # LangChain keeps one client for all models with one address.
        host = f"far-{proxy.url.split(':')[2].removesuffix('/v1')}.invalid"
        model = LangChainModel(chat_at(base_url=f"http://{host}/v1"))
        assert model.detour == f"a proxy is set for {host}"
        assert await texts(model) == [Text("Hello")]
        assert proxy.paths == [f"http://{host}/v1/chat/completions"]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NO_PROXY": "localhost"},
        {"no_proxy": "127.0.0.1"},
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1,example.com"},
        {"all_proxy": "http://127.0.0.1:1", "NO_PROXY": "*"},
        {"https_proxy": "http://127.0.0.1:1"},
    ],
)
async def test_a_proxy_that_is_not_for_this_address_does_not_make_it_slower(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with openai_server(TOGETHER) as server:
        model = LangChainModel(chat_at(server))
        assert await texts(model) == [Text("Hello")]
        assert model._direct
        assert isinstance(model._direct.lean()._transport, Transport)
        assert (model.detour, [record for record in caplog.records if "slower" in record.message]) == ("", [])


async def test_an_answer_that_is_compressed_is_read_as_well() -> None:
    (whole,) = TOGETHER.steps
    assert isinstance(whole, bytes)
    async with openai_server(Played((gzip.compress(whole),), headers={"Content-Encoding": "gzip"})) as server:
        assert await texts(LangChainModel(chat_at(server))) == [Text("Hello")]


@pytest.mark.parametrize("place", ["key", "environment", "header", "address"])
async def test_a_secret_that_the_vendor_repeats_is_not_told(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "mango4orchard9"
    async with openai_server(answers.fails(401, f"This is wrong: '{secret}', me:{secret}@host")) as server:
        options: dict[str, dict[str, Any]] = {
            "key": {"api_key": secret},
            "header": {"default_headers": {"X-Own": secret}},
            "address": {"base_url": server.url.replace("://", f"://me:{secret}@")},
        }
        if place == "environment":
            monkeypatch.setenv("ACME_API_KEY", secret)
        with pytest.raises(ModelRefused) as failed:
            await texts(LangChainModel(chat_at(server, **options.get(place, {}))))
    assert "This is wrong" in str(failed.value)
    assert secret not in str(failed.value)
