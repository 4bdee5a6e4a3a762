"""Anthropic's form: what is written is what Anthropic takes, and what it streams becomes our deltas."""

from typing import Any

import pytest

from tests.unit.threadkeep_providers.talking import BYTES, GONE, IMAGE, SHOWN, answered, conversation, said, sent
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import CallPart, Reasoned, Stopped, Text, Used
from threadkeep_providers.anthropic import AnthropicReader, Messages

KEPT = {"type": "ephemeral"}


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    start = {"type": "content_block_start", "index": index, "content_block": first}
    return [start, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]


def test_messages_are_read_and_tools_that_the_provider_runs_are_left_to_it() -> None:
    start = {"input_tokens": 3, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 1, "output_tokens": 1}
    assert said(
        AnthropicReader(),
        {"type": "message_start", "message": {"usage": start}},
        *block(0, {"type": "text", "text": "H"}, {"type": "text_delta", "text": "i"}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        *block(
            1,
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": "{}"},
        ),
        *block(
            2,
            {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            {"type": "input_json_delta", "partial_json": "{}"},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ) == [
        Text("Hi"),
        Reasoned(text="hm"),
        CallPart(index=0, id="t", name="f"),
        CallPart(index=0, args="{}"),
        Used(Usage(input_tokens=12, output_tokens=5, cached_tokens=8)),
        Stopped("tool_use"),
    ]


def test_anthropic_gets_its_thinking_back_with_signatures_redacted_and_in_order() -> None:
    answer = answered(
        AnthropicReader(),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me "},
            {"type": "thinking_delta", "thinking": "see."},
            {"type": "signature_delta", "signature": "EqQB"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "EmwK"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."}),
        *block(3, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "Hidden"}),
        *block(4, {"type": "tool_use", "id": "t1", "name": "look", "input": {}}),
    )
    assert [part.model_dump(exclude={"type", "duration", "model"}) for part in answer.parts] == [
        {"text": "Let me see.", "payload": {"signature": "EqQB"}},
        {"payload": {"data": "EmwK"}},
        {"at": 7, "payload": {"signature": "Hidden"}},
    ]
    assert sent(Messages(), conversation(answer))["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "text", "text": "I look."},
            {"type": "thinking", "thinking": "", "signature": "Hidden"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "cache_control": KEPT},
        ],
    }


def test_redacted_thinking_alone_is_sent_back_as_it_came() -> None:
    answer = answered(
        AnthropicReader(),
        *block(0, {"type": "redacted_thinking", "data": "EmwK"}),
        *block(1, {"type": "text", "text": "Yes."}),
    )
    assert sent(Messages(), [answer])["messages"][0]["content"] == [
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "text", "text": "Yes.", "cache_control": KEPT},
    ]


def test_what_stands_before_the_question_is_marked_to_be_kept_for_the_next_request() -> None:
    said = [Message(role=role, content=f"{turn}") for turn in range(3) for role in (Role.USER, Role.ASSISTANT)]
    first, later = (sent(Messages(), [*said[:size], Message(role=Role.USER, content="And?")]) for size in (2, 6))
    marked = [
        [place for place, message in enumerate(body["messages"]) if "cache_control" in message["content"][-1]]
        for body in (first, later, sent(Messages(), [Message(role=Role.USER, content="Hi")]))
    ]
    assert marked == [[1], [5], []]


def test_images_and_documents_are_sent_in_their_order() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}}
    asked, called, result = sent(Messages(), SHOWN, BYTES)["messages"]
    assert asked["content"] == [image, {"type": "text", "text": "Look"}, document, {"type": "text", "text": " here"}]
    assert [block["type"] for block in called["content"]] == ["tool_use"]
    assert result["content"][0]["content"] == [image, {"type": "text", "text": "Drawn."}]
    (gone,) = sent(Messages(), [SHOWN[0].model_copy(update={"parts": (IMAGE,)})])["messages"]
    assert gone["content"] == [{"type": "text", "text": GONE}, {"type": "text", "text": "Look here"}]


def test_results_and_the_question_after_them_are_one_message_of_the_user() -> None:
    calls = tuple(ToolCall(id=id, name="look") for id in "ab")
    results = [
        Message(role=Role.TOOL, content="7", tool_result=ToolResult(tool_call_id="a")),
        Message(role=Role.TOOL, content="no", tool_result=ToolResult(tool_call_id="b", error="it broke")),
    ]
    asked = Message(role=Role.USER, content="And?")
    system = Message(role=Role.SYSTEM, content="Be brief.")
    first = Message(role=Role.USER, content="Go")
    body = sent(Messages(), [system, first, Message(role=Role.ASSISTANT, tool_calls=calls), *results, asked])
    assert body["system"] == "Be brief."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "7", "is_error": False},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
        {"type": "text", "text": "And?"},
    ]


@pytest.mark.parametrize(
    ("model", "window", "most", "decides"),
    [
        ("claude-sonnet-4-5-20250929", 200_000, 64_000, False),
        ("claude-opus-4-6", 1_000_000, 128_000, False),
        ("claude-opus-4-7", 1_000_000, 128_000, True),
        ("claude-sonnet-5-5", 1_000_000, 128_000, True),
        ("claude-opus-4-1", 200_000, 32_000, False),
        ("other", 128_000, 4_096, False),
    ],
)
def test_what_is_known_of_a_model_by_its_name(model: str, window: int, most: int, decides: bool) -> None:
    traits = Messages().traits(model)
    assert (traits.window, traits.max_output, traits.reasons) == (window, most, decides)


def test_sampling_is_for_models_that_take_it() -> None:
    form, asked = Messages(), [(Message(role=Role.USER, content="Go"), b"{}")]
    assert b'"temperature":0.2' in form.body("claude-opus-4-6", {"temperature": 0.2}, asked, b"")
    assert b'"temperature":1' in form.body("claude-opus-5", {"temperature": 1}, asked, b"")
    with pytest.raises(ModelRefused, match="temperature"):
        form.body("claude-opus-5", {"temperature": 0.2}, asked, b"")
