"""LangChain chat models by instance, without a network: the fakes that LangChain brings."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelError, ModelRefused
from threadkeep.llm.base import Request, Stopped, Text, ToolSpec
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import OpenAiServer, openai_server
from threadkeep_integrations.langchain import LangChainModel

REQUEST = Request(messages=(Message(role=Role.USER, content="Hi"),))
TOOL = ToolSpec(name="add", description="Add.", parameters={"type": "object", "properties": {}})


def chat_at(server: OpenAiServer, **options: Any) -> BaseChatModel:
    fixed: dict[str, Any] = {"base_url": server.url, "model": "played", "max_retries": 0, "api_key": "sk-test"}
    return ChatOpenAI(**(fixed | options))


def fake(*said: str) -> BaseChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(content=text) for text in said]))


async def test_any_chat_model_streams() -> None:
    model = LangChainModel(fake("Hello there"))
    assert [delta async for delta in model.stream(REQUEST)] == [Text("Hello"), Text(" "), Text("there"), Stopped("end")]


async def test_a_model_that_takes_no_tools_says_so() -> None:
    with pytest.raises(ModelRefused, match="takes no tools"):
        await anext(aiter(LangChainModel(fake("Hello")).stream(Request(messages=REQUEST.messages, tools=(TOOL,)))))


async def test_tools_are_bound_in_the_form_of_openai() -> None:
    bound: list[Any] = []

    class WithTools(GenericFakeChatModel):
        def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
            bound.extend(tools)
            return self

    model = LangChainModel(WithTools(messages=iter([AIMessage(content="Hi")])))
    assert [delta async for delta in model.stream(Request(messages=REQUEST.messages, tools=(TOOL,)))]
    function = {"name": "add", "description": "Add.", "parameters": TOOL.parameters}
    assert bound == [{"type": "function", "function": function}]


async def test_what_nobody_foresaw_keeps_its_cause() -> None:
    class Broken(GenericFakeChatModel):
        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            yield await self.surprise()

        async def surprise(self) -> Any:
            raise RuntimeError("nobody foresaw this")

    with pytest.raises(ModelError, match="nobody foresaw this") as caught:
        await anext(aiter(LangChainModel(Broken(messages=iter([]))).stream(REQUEST)))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_instance_has_a_name_and_a_window() -> None:
    model = LangChainModel(fake(), window=1000)
    assert (model.name, model.window) == ("GenericFakeChatModel", 1000)
    assert LangChainModel(fake(), name="mine").window == 128_000


async def test_a_class_of_a_vendor_is_asked_over_its_own_client_and_hung_up_on_at_once() -> None:
    async with openai_server(answers.hangs("Hel")) as server, asyncio.timeout(5):
        stream = LangChainModel(chat_at(server)).stream(REQUEST)
        assert await anext(stream) == Text("Hel")
        await stream.aclose()  # type: ignore[attr-defined]
        await server.hung_up.wait()


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
            await anext(aiter(LangChainModel(chat_at(server, **options.get(place, {}))).stream(REQUEST)))
    assert "This is wrong" in str(failed.value)
    assert secret not in str(failed.value)
