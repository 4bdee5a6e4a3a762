"""Turns with models that think, over real sockets: what a provider streamed goes back to it, byte for byte in order."""

import json
from typing import Any

import pytest

from tests.told import name_of
from tests.unit.turn.processes import ended, new_conversation
from threadkeep.conversation.message import Message
from threadkeep.conversations import Conversations
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep.testing.providers import anthropic, openai
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_providers.openai import Responses
from threadkeep_providers.provider_model import ProviderModel


@tool(repeatable=True)
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is blue."


ASSISTANT = Assistant(name="tester", instructions="Be brief.", tools=Registry([look]))


def event(**fields: Any) -> bytes:
    return f"event: {fields.get('type', 'x')}\ndata: {json.dumps(fields)}\n\n".encode()


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> tuple[bytes, ...]:
    return (
        event(type="content_block_start", index=index, content_block=first),
        *(event(type="content_block_delta", index=index, delta=delta) for delta in deltas),
        event(type="content_block_stop", index=index),
    )


def claude_answer(*blocks: tuple[bytes, ...], reason: str) -> Played:
    usage = {"input_tokens": 9, "output_tokens": 1}
    start = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    pieces = [event(type="message_start", message=start)]
    pieces += [piece for one in blocks for piece in one]
    pieces += [event(type="message_delta", delta={"stop_reason": reason}, usage=usage), event(type="message_stop")]
    return Played(tuple(pieces))


THINKING = {"type": "thinking", "thinking": "", "signature": ""}
CLAUDE = (
    claude_answer(
        block(
            0,
            THINKING,
            {"type": "thinking_delta", "thinking": "I must "},
            {"type": "thinking_delta", "thinking": "look."},
            {"type": "signature_delta", "signature": "EqQB/+=="},
        ),
        block(1, {"type": "redacted_thinking", "data": "EmwK=="}),
        block(
            2,
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"at": "sky"}'},
        ),
        reason="tool_use",
    ),
    claude_answer(block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Blue."}), reason="end_turn"),
)
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look."}],
    "encrypted_content": "gAAA",
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": ""}
DONE = {"status": "completed", "usage": {"input_tokens": 9, "output_tokens": 1}}
GPT = (
    Played(
        (
            event(type="response.reasoning_summary_text.delta", delta="Look."),
            event(type="response.output_item.done", output_index=0, item=ITEM),
            event(type="response.output_item.added", output_index=1, item=CALL),
            event(type="response.function_call_arguments.delta", output_index=1, delta='{"at": "sky"}'),
            event(type="response.completed", response=DONE),
        )
    ),
    Played((event(type="response.output_text.delta", delta="Blue."), event(type="response.completed", response=DONE))),
)


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    return event(choices=[{"index": 0, "delta": delta, "finish_reason": reason}])


COMPATIBLE = (
    Played(
        (
            chunk({"reasoning_content": "I must look."}),
            chunk(
                {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at": "sky"}'}}]}
            ),
            chunk({}, "tool_calls"),
        )
    ),
    Played((chunk({"content": "<think>So.</think>Blue."}), chunk({}, "stop"))),
)


def claude(server: OpenAiServer) -> Model:
    return ProviderModel.named("anthropic:claude-sonnet-5-5", api_key="k", base_url=server.url.removesuffix("/v1"))


def gpt(server: OpenAiServer) -> Model:
    return ProviderModel.named("openai:gpt-5", api_key="k", base_url=server.url, form=Responses())


def compatible(server: OpenAiServer) -> Model:
    return ProviderModel.named("openai:played", api_key="k", base_url=server.url)


async def opened(model: Model) -> Conversations:
    return await open_conversations("memory:", [ASSISTANT], model=model)


@pytest.mark.parametrize(
    ("make", "played", "check", "sent"),
    [
        (
            claude,
            CLAUDE,
            anthropic.check_body,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I must look.", "signature": "EqQB/+=="},
                    {"type": "redacted_thinking", "data": "EmwK=="},
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "look",
                        "input": {"at": "sky"},
                        "cache_control": {"type": "ephemeral"},
                    },
                ],
            },
        ),
        (gpt, GPT, None, ITEM),
        (compatible, COMPATIBLE, openai.check_body, None),
    ],
)
async def test_a_turn_with_tools_sends_back_what_was_thought(make: Any, played: Any, check: Any, sent: Any) -> None:
    async with openai_server(*played) as server:
        conversations = await opened(make(server))
        try:
            chat = await new_conversation(conversations)
            assert name_of(await ended(await chat.send("Which colour?"))) == "turn.completed"
            said: tuple[Message, ...] = tuple(await chat.messages())
        finally:
            await conversations.close()
    body = server.requests[1]
    if check is not None:
        check(body)
    items = body.get("messages") or body["input"]
    if sent is None:
        assert "must look" not in json.dumps(items)
        assert [part.model_dump()["text"] for message in said for part in message.parts] == ["I must look.", "So."]
    else:
        assert items[items.index(sent) + (0 if make is claude else 1)].get("name", "look") == "look"
    assert said[-1].content == "Blue."
