"""The shop and the general assistant as their users meet them: over HTTP, with a killed server after each turn."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.server import PATIENCE, Server
from tests.integration.serving import Server as Here
from tests.integration.serving import serving
from threadkeep.testing import openai_answers as played
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep.testing.providers import openai
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.chat import ASSISTANT as CHAT
from threadkeep_assistants.shop import ASSISTANT as SHOP
from threadkeep_assistants.shop.catalogue import products
from threadkeep_providers.provider_model import ProviderModel


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that can be killed."""
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


def ask(server: Server, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send one question, then kill the server and start it again."""
    answer = httpx.post(f"{server.url}{path}", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    server.restart()
    return dict(answer.json())


def test_the_samsung_one_is_found_after_a_restart_in_the_dialect_of_queries(server: Server) -> None:
    first = ask(server, "/chat", {"query": "Which phones are under $500?", "session_id": ""})
    listed = [products()[block["source"]] for block in first["blocks"] if block["type"] == "citation"]
    assert listed
    assert all(product.kind == "phone" and product.price < 500 for product in listed)
    samsung = next(product for product in listed if product.brand == "Samsung")
    session = first["session_id"]
    second = ask(server, "/chat", {"query": "tell me more about the Samsung one", "session_id": session})
    assert samsung.name in second["response"]
    third = ask(server, "/chat", {"query": "is it in stock?", "session_id": session})
    assert samsung.name in third["response"]
    unknown = httpx.post(f"{server.url}/chat", json={"query": "hi", "session_id": "nobody"}, timeout=PATIENCE)
    assert unknown.status_code == 404
    whole = httpx.get(f"{server.url}/v1/conversations/{session}", timeout=PATIENCE).json()
    questions = [message["content"] for message in whole["messages"] if message["role"] == "user"]
    assert questions == ["Which phones are under $500?", "tell me more about the Samsung one", "is it in stock?"]


def test_alice_is_remembered_after_a_restart(server: Server) -> None:
    created = httpx.post(f"{server.url}/v1/conversations", json={"assistant": "chat"}, timeout=PATIENCE)
    path = f"{created.headers['location']}/messages"
    ask(server, path, {"content": "My name is Alice"})
    assert "391" in ask(server, path, {"content": "What is 17 * 23?"})["message"]["content"]
    assert "Alice" in ask(server, path, {"content": "What's my name?"})["message"]["content"]


@pytest.mark.parametrize(
    "question",
    [
        "what is my name",
        "Do you remember my name?",
        "who am I?",
        "tell me my name",
        "What's my name again?",
        "do you know my name",
        "WHAT IS MY NAME",
        "So, what was my name?",
        "how am I called?",
        "what do you know about me?",
    ],
)
async def test_ways_to_ask_for_a_name(question: str) -> None:
    async with serving(assistants=[CHAT]) as server:
        path = await server.conversation(assistant="chat")
        await server.say(path, "Hi, my name is Alice.")
        assert "Alice" in (await server.say(path, question)).json()["message"]["content"]


@asynccontextmanager
async def played_by(assistant: Assistant, *answers: Played) -> AsyncIterator[tuple[Here, OpenAiServer, str]]:
    """A server whose model speaks OpenAI's protocol over a real socket, and a conversation with an assistant on it."""
    async with openai_server(*answers) as provider:
        model = ProviderModel.named("openai:played", base_url=provider.url, api_key="sk-test")
        async with serving(model=model, assistants=[assistant]) as server:
            yield server, provider, await server.conversation(assistant=assistant.name, title="Kept")
        for body in provider.requests:
            openai.check_body(body)


async def test_a_sensible_model_answers_from_what_the_shop_found_and_rewrites_the_follow_up() -> None:
    answers = [
        played.says("Take the Samsung Pixelia Plus 6 [P028] ", "or the Sony Onyx S 9 [P025]."),
        played.says("phones with a good camera"),
        played.says("The Sony Onyx S 9 [P025]."),
    ]
    async with played_by(SHOP, *answers) as (server, provider, path):
        listed = (await server.say(path, "phones under $500")).json()
        told = (await server.say(path, "which of them have a good camera?")).json()
    assert [block["source"] for block in listed["message"]["blocks"]] == ["P028", "P025"]
    assert "[P0" in provider.requests[0]["messages"][-1]["content"]
    assert "Last question: which of them have a good camera?" in provider.requests[1]["messages"][-1]["content"]
    query = next(item for item in told["message"]["tool_trace"] if item["kind"] == "query")
    assert (query["by"], query["rewritten"]) == ("model", "phones with a good camera")
    assert told["message"]["content"] == "The Sony Onyx S 9 [P025]."


@pytest.mark.parametrize(
    "rewriting",
    [
        played.fails(500),
        played.says("The Zanzibar 3000 by Acme is what you want, believe me."),
        played.says(""),
        played.cut_in_arguments(),
    ],
)
async def test_a_model_that_cannot_rewrite_is_done_without(rewriting: Played) -> None:
    answers = [played.says("Take one."), rewriting, played.says("That one.")]
    async with played_by(SHOP, *answers) as (server, _, path):
        await server.say(path, "phones under $500")
        told = (await server.say(path, "which of them have a good camera?")).json()
    assert told["message"]["content"] == "That one."
    assert next(item for item in told["message"]["tool_trace"] if item["kind"] == "query")["by"] == "words"


async def test_a_model_that_is_down_fails_the_turn_clearly_and_keeps_the_question() -> None:
    async with played_by(SHOP, *[played.fails(500)] * 4, played.says("Back again.")) as (server, _, path):
        failed = (await server.say(path, "phones under $500")).json()
        assert (failed["turn"]["state"], failed["message"]) == ("failed", None)
        assert failed["turn"]["failure"]["code"] == "model_unavailable"
        again = await server.client.post(f"{path}/regenerate")
        assert again.json()["message"]["content"] == "Back again."


async def test_a_sensible_model_uses_the_tools_of_the_general_assistant() -> None:
    answers = [
        played.wants(("c1", "calculate", '{"expression": "17 * 23"}'), ("c2", "current_time", '{"zone": "Oslo"}')),
        played.says("391, and it is late."),
    ]
    async with played_by(CHAT, *answers) as (server, provider, path):
        told = (await server.say(path, "17 * 23, and the time in Oslo?")).json()
    assert told["message"]["content"] == "391, and it is late."
    assert "391" in [message["content"] for message in provider.requests[1]["messages"]]


async def test_a_model_that_misbehaves_with_the_general_assistant_is_told() -> None:
    answers = [
        played.wants(("c1", "calculate", '{"expression": "__import__(1)"}'), ("c2", "compute", "{}")),
        played.wants(("c3", "calculate", '{"expression": ')),
        played.says("I give up."),
    ]
    async with played_by(CHAT, *answers) as (server, provider, path):
        told = (await server.say(path, "17 * 23?")).json()
    assert told["message"]["content"] == "I give up."
    said = [str(message["content"]) for message in provider.requests[2]["messages"]]
    assert any("is no arithmetic expression" in text for text in said)
    assert any("There is no tool" in text for text in said)
    assert any("not valid JSON" in text for text in said)
