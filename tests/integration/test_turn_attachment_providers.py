"""Turns with attached files, over real sockets: each provider gets the uploaded bytes, in order and in its form."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.integration.test_llm_vendors import CLAUDE_TEXT, LLAMA_CALL, event, line
from tests.told import name_of
from tests.unit.threadkeep_integrations.conversion.test_converter import pdf
from tests.unit.turn.processes import ended
from threadkeep.hosting import Hosting
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep.settings import Settings
from threadkeep.testing.openai_answers import says
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep_integrations.langchain import LangChainModel
from threadkeep_providers.provider_model import ProviderModel

CLAUDE = Played(
    (
        *CLAUDE_TEXT,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
        event("message_stop"),
    )
)
LLAMA = Played((line(message={"role": "assistant", "content": "Hello"}, done=False), LLAMA_CALL[-1]))
PDF = pdf("The quarterly figures")
NOTES = b"Tom is red."


def png(side: int) -> bytes:
    made = BytesIO()
    Image.new("RGB", (side, side), "red").save(made, "PNG")
    return made.getvalue()


SMALL, LARGE = png(10), png(200)


def claude(server: OpenAiServer) -> Model:
    return ProviderModel.named("anthropic:claude-sonnet-5-5", api_key="k", base_url=server.url.removesuffix("/v1"))


def gpt(server: OpenAiServer) -> Model:
    return ProviderModel.named("openai:gpt-5", api_key="k", base_url=server.url)


def llama(server: OpenAiServer) -> Model:
    sees = {"image_inputs": True}
    return LangChainModel.named("ollama:played", base_url=server.url.removesuffix("/v1"), profile=sees)


def _claude_parts(message: dict[str, Any]) -> list[Any]:
    return [b64decode(block["source"]["data"]) if "source" in block else block["text"] for block in message["content"]]


def _gpt_parts(message: dict[str, Any]) -> list[Any]:
    def part(block: dict[str, Any]) -> Any:
        uri = block.get("image_url", {}).get("url") or block.get("file", {}).get("file_data")
        return b64decode(uri.partition(",")[2]) if uri else block["text"]

    return [part(block) for block in message["content"]]


def _llama_parts(message: dict[str, Any]) -> list[Any]:
    return [*map(b64decode, message["images"]), message["content"].strip()]


@pytest.mark.parametrize(
    ("make", "played", "parts", "takes_pdf"),
    [
        (claude, CLAUDE, _claude_parts, True),
        (gpt, says("Hello"), _gpt_parts, True),
        (llama, LLAMA, _llama_parts, False),
    ],
    ids=["anthropic", "openai", "ollama"],
)
async def test_a_provider_gets_the_files_of_a_message_in_order(
    make: Callable[[OpenAiServer], Model], played: Played, parts: Callable[[dict[str, Any]], list[Any]], takes_pdf: bool
) -> None:
    hosting = Hosting(settings=Settings(image_side=64))
    async with openai_server(played) as server:
        async with await open_conversations("memory:", model=make(server), hosting=hosting) as kept:
            chat = await kept.create(title="Files")
            files = [("small.png", SMALL), ("large.png", LARGE), ("figures.pdf", PDF), ("notes.txt", NOTES)]
            turn = await chat.send("What are these?", attach=files)
            end = await ended(turn)
            assert name_of(end) == "turn.completed", end
        first, large, *rest = parts(next(m for m in server.requests[0]["messages"] if m["role"] == "user"))
    assert first == SMALL
    with Image.open(BytesIO(large)) as shown:
        assert (shown.size, shown.format) == ((64, 64), "PNG")
    assert [part for part in rest if isinstance(part, bytes)] == ([PDF] if takes_pdf else [])
    (text,) = [part for part in rest if isinstance(part, str)]
    assert text.startswith("What are these?\n\n[Threadkeep: attached file ")
    assert "Tom is red." in text
    assert ("The quarterly figures" in text) is not takes_pdf
    assert b64encode(LARGE).decode() not in str(server.requests)
