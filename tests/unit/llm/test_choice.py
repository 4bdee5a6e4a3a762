"""Which model answers at the start, and the sentence that says why. No test looks at the real environment."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from threadkeep.llm.choice import Choice, choose_model, first_ollama_model
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server

NOWHERE = "127.0.0.1:9"


def everything(_module: str) -> bool:
    return True


def nothing(_module: str) -> bool:
    return False


@pytest.fixture
async def ollama() -> AsyncIterator[OpenAiServer]:
    models = json.dumps({"models": [{"name": "llama3.2:3b"}, {"name": "other"}]}).encode()
    async with openai_server(Played((models,), chunked=False)) as server:
        yield server


async def test_a_setting_wins() -> None:
    choice = await choose_model("demo", {"OPENAI_API_KEY": "sk-1"}, is_installed=everything)
    assert choice == Choice("demo", "demo is set.")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("OPENAI_API_KEY", "openai:gpt-6.1-terra"),
        ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5"),
        ("GOOGLE_API_KEY", "google_genai:gemini-flash-latest"),
        ("GEMINI_API_KEY", "google_genai:gemini-flash-latest"),
        ("MISTRAL_API_KEY", "mistralai:mistral-medium-latest"),
    ],
)
async def test_a_key_selects_a_model_of_its_provider(key: str, name: str) -> None:
    choice = await choose_model(None, {key: "secret-value"}, is_installed=everything, ollama=NOWHERE)
    assert choice.name == name
    assert key in choice.reason
    assert name in choice.reason
    assert "secret-value" not in choice.reason


async def test_a_key_without_its_package_is_told_with_the_line_that_installs_it() -> None:
    choice = await choose_model(None, {"OPENAI_API_KEY": "sk-1"}, is_installed=nothing, ollama=NOWHERE)
    assert choice.name == "demo"
    assert "OPENAI_API_KEY is set, but its package is missing (pip install 'threadkeep[openai]')" in choice.reason
    assert choice.missing == "OPENAI_API_KEY is set, but its package is missing (pip install 'threadkeep[openai]')"
    assert (await choose_model(None, {}, is_installed=nothing, ollama=NOWHERE)).missing is None


async def test_the_next_key_is_taken_if_the_first_has_no_package() -> None:
    keys = {"OPENAI_API_KEY": "sk-1", "MISTRAL_API_KEY": "sk-2"}
    choice = await choose_model(None, keys, is_installed=lambda module: module == "langchain_mistralai", ollama=NOWHERE)
    assert choice.name == "mistralai:mistral-medium-latest"


async def test_an_empty_key_is_none() -> None:
    choice = await choose_model(None, {"OPENAI_API_KEY": " "}, is_installed=everything, ollama=NOWHERE)
    assert choice.name == "demo"


async def test_a_local_ollama_is_asked_for_its_first_model(ollama: OpenAiServer) -> None:
    choice = await choose_model(None, {}, is_installed=everything, ollama=f"127.0.0.1:{ollama.port}")
    assert choice.name == "ollama:llama3.2:3b"
    assert "Ollama answers" in choice.reason
    assert ollama.paths == ["/api/tags"]


async def test_an_ollama_without_its_package_is_told(ollama: OpenAiServer) -> None:
    choice = await choose_model(None, {}, is_installed=nothing, ollama=f"127.0.0.1:{ollama.port}")
    assert choice.name == "demo"
    assert "pip install 'threadkeep[ollama]'" in choice.reason


async def test_with_nothing_the_demo_answers_and_says_why() -> None:
    choice = await choose_model(None, {}, ollama=NOWHERE)
    assert choice.name == "demo"
    assert choice.reason == (
        "No model is set, no provider's key is found and no Ollama answers on 127.0.0.1:9, "
        "so the scripted demo answers."
    )


@pytest.mark.parametrize(
    "answer",
    [
        Played((b"not json",), chunked=False),
        Played((b'{"models": []}',), chunked=False),
        Played((b'{"models": 7}',), chunked=False),
        Played((b'{"models": [{"name": "llama"}]}',), 500, chunked=False),
        Played((), chunked=False),
    ],
)
async def test_a_port_that_answers_nonsense_is_no_ollama(answer: Played) -> None:
    async with openai_server(answer) as server:
        assert await first_ollama_model(f"127.0.0.1:{server.port}") is None


async def test_a_port_that_never_answers_does_not_hold_up_the_start() -> None:
    async with openai_server(Played((asyncio.Event(),), chunked=False)) as server, asyncio.timeout(5):
        assert await first_ollama_model(f"127.0.0.1:{server.port}") is None
