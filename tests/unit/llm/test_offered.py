"""What conversations may choose: names, and all that a provider lists, which is asked without anybody waiting."""

import json
from collections.abc import AsyncIterator

import pytest

from threadkeep.errors import ModelRefused
from threadkeep.llm.offered import OfferedModels, listed
from threadkeep.llm.providers import provider_named
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server

PLAIN = {"Content-Type": "application/json"}
NAMES = ["gpt-b", "gpt-a", "text-embedding-3", "whisper-1"]


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    body = json.dumps({"data": [{"id": name} for name in NAMES]}).encode()
    async with openai_server(*[Played((body,), headers=PLAIN, chunked=False)] * 2) as served:
        yield served


def environment(server: OpenAiServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": server.url}


async def finish(offered: OfferedModels) -> None:
    for task in list(offered._asking.values()):
        await task


async def test_a_provider_is_asked_once_with_its_key_and_lists_what_chats(server: OpenAiServer) -> None:
    offered = OfferedModels(["demo", "openai:*"], environment(server))
    offered.ask()
    offered.ask()
    assert (list(offered), offered.is_asking) == (["demo"], True)
    await finish(offered)
    offered.ask()
    assert list(offered) == ["demo", "openai:gpt-a", "openai:gpt-b"]
    assert not offered.is_asking
    assert (server.paths, server.headers[0]["authorization"]) == (["/v1/models"], "Bearer sk-secret")


@pytest.mark.parametrize(
    "answer",
    [
        Played((b"[]",), headers=PLAIN, chunked=False),
        Played((b"not JSON",), headers=PLAIN, chunked=False),
        Played((b"{}",), status=500, headers=PLAIN, chunked=False),
        Played((b"",), status=302, headers={"Location": "http://127.0.0.1:1/elsewhere"}, chunked=False),
    ],
    ids=["list", "nonsense", "failure", "redirect"],
)
async def test_a_provider_that_fails_is_asked_again_later_and_offers_nothing(answer: Played) -> None:
    async with openai_server(answer) as server:
        offered = OfferedModels(["openai:*"], environment(server))
        offered.ask()
        await finish(offered)
        offered.ask()
        assert (list(offered), offered.is_asking, len(server.paths)) == ([], False, 1)


@pytest.mark.parametrize("name", ["local:/etc/passwd", "anthropic:x", "openai", "demo:x", "openai2:x"])
def test_only_what_is_offered_may_be_chosen(name: str) -> None:
    offered = OfferedModels(["demo", "openai:*"], {})
    assert "openai:anything" in offered
    assert name not in offered


def test_no_provider_is_asked_where_real_models_are_forbidden() -> None:
    provider = provider_named("openai")
    assert provider is not None
    with pytest.raises(ModelRefused):
        listed(provider, {"THREADKEEP_NO_REAL_MODELS": "1", "OPENAI_API_KEY": "sk-secret"})
