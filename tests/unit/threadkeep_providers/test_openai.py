"""OpenAI's two forms: what is written is what OpenAI takes, and what it streams becomes our deltas."""

import pytest

from tests.unit.threadkeep_providers.talking import (
    BYTES,
    GONE,
    IMAGE,
    PDF,
    SHOWN,
    SOUND,
    answered,
    conversation,
    said,
    sent,
)
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.llm.base import CallPart, Stopped, Text, Used
from threadkeep_providers.openai import ChatCompletions, Responses, read_chat, read_response
from threadkeep_providers.vendor_errors import ProviderError


def choice(**fields: object) -> dict[str, object]:
    return {"choices": [{"index": 0, **fields}]}


def test_chat_completions_are_read() -> None:
    head = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"x"'}}
    rest = {"index": 0, "function": {"arguments": ": 1}"}}
    counts = {"prompt_tokens": 12, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}
    assert said(
        read_chat,
        choice(delta={"role": "assistant", "content": "Hel"}),
        choice(delta={"content": [{"type": "text", "text": "lo"}]}),
        choice(delta=None),
        choice(delta={"content": None, "tool_calls": [head]}),
        choice(delta={"tool_calls": [rest]}),
        choice(delta={}, finish_reason="tool_calls"),
        {"choices": [], "usage": counts},
    ) == [
        Text("Hello"),
        CallPart(index=0, id="c1", name="f", args='{"x"'),
        CallPart(index=0, args=": 1}"),
        Used(Usage(input_tokens=12, output_tokens=5, cached_tokens=8)),
        Stopped("tool_calls"),
    ]


def test_what_compatible_servers_show_of_reasoning_is_shown_and_never_sent_back() -> None:
    for name in ("reasoning_content", "reasoning"):
        answer = answered(
            read_chat,
            {"choices": [{"delta": {"content": None, name: "Hm."}}]},
            {"choices": [{"delta": {"content": "Yes."}}]},
        )
        assert [part.model_dump(exclude={"duration"}) for part in answer.parts] == [
            {"type": "reasoning", "text": "Hm.", "model": "the:model"}
        ]
        assert sent(ChatCompletions(), [answer])["messages"] == [{"role": "assistant", "content": "Yes."}]


def test_responses_are_read() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}
    done = {"status": "completed", "usage": {"input_tokens": 12, "output_tokens": 5}}
    assert said(
        read_response,
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
        {"type": "response.completed", "response": done},
    ) == [
        Text("Hi"),
        CallPart(index=0, id="c1", name="f"),
        CallPart(index=0, args="{}"),
        Used(Usage(input_tokens=12, output_tokens=5)),
        Stopped("tool_calls"),
    ]


def test_a_response_that_is_incomplete_says_why_and_one_that_failed_raises() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert said(read_response, {"type": "response.incomplete", "response": cut}) == [Stopped("max_output_tokens")]
    failed = {"status": "failed", "error": {"code": "server_error", "message": "no"}}
    with pytest.raises(ProviderError, match="no"):
        said(read_response, {"type": "response.failed", "response": failed})
    with pytest.raises(ProviderError, match="no"):
        said(read_response, {"type": "error", "code": "server_error", "message": "no"})


def test_openai_gets_its_encrypted_reasoning_items_back_before_what_follows_them() -> None:
    first = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "gAAA",
    }
    second = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": ""}
    other = {**call, "call_id": "c2"}
    answer = answered(
        read_response,
        {"type": "response.reasoning_summary_part.added", "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "delta": "One."},
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "delta": "Two."},
        {"type": "response.output_item.done", "item": first},
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.output_item.done", "item": second},
        {"type": "response.output_item.added", "output_index": 3, "item": other},
    )
    assert [(part.text, part.call) for part in answer.parts if isinstance(part, Reasoning)] == [
        ("One.\n\nTwo.", None),
        ("", "c2"),
    ]
    assert sent(Responses(), conversation(answer))["input"][1:5] == [
        first,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        second,
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
    ]


def test_files_are_sent_in_their_order_in_responses_and_in_chat_completions() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,cG5n"}
    file = {"file_data": "data:application/pdf;base64,cGRm", "filename": "a.pdf"}
    asked, _, result = sent(Responses(), SHOWN, BYTES)["input"]
    first, last = ({"type": "input_text", "text": text} for text in ("Look", " here"))
    assert asked["content"] == [image, first, {"type": "input_file", **file}, last]
    assert result["output"] == [image, {"type": "input_text", "text": "Drawn."}]
    heard = Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF, SOUND))
    (asked,) = sent(ChatCompletions(), [heard], BYTES)["messages"]
    assert asked["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        {"type": "text", "text": "Look"},
        {"type": "file", "file": file},
        {"type": "input_audio", "input_audio": {"data": "bXAz", "format": "mp3"}},
        {"type": "text", "text": " here"},
    ]


def test_a_file_without_bytes_is_described_in_words() -> None:
    seen = Message(role=Role.USER, content="Look", parts=(IMAGE,))
    (chat,) = sent(ChatCompletions(), [seen])["messages"]
    assert chat["content"] == [{"type": "text", "text": GONE}, {"type": "text", "text": "Look"}]
    (item,) = sent(Responses(), [seen])["input"]
    assert item["content"] == [{"type": "input_text", "text": GONE}, {"type": "input_text", "text": "Look"}]


@pytest.mark.parametrize(
    ("model", "window", "reasons", "sees"),
    [
        ("gpt-4o-mini", 128_000, False, True),
        ("gpt-4.1-nano", 1_047_576, False, True),
        ("gpt-5", 272_000, True, True),
        ("gpt-5-mini-2025-08-07", 272_000, True, True),
        ("gpt-5.1-chat-latest", 272_000, False, True),
        ("gpt-5.4-mini", 400_000, True, True),
        ("gpt-5.4", 1_050_000, True, True),
        ("gpt-6.1-terra", 1_050_000, True, True),
        ("o4-mini", 200_000, True, True),
        ("my-model", 128_000, False, False),
    ],
)
def test_what_is_known_of_a_model_by_its_name(model: str, window: int, reasons: bool, sees: bool) -> None:
    traits = Responses().traits(model)
    assert (traits.window, traits.reasons, "image" in traits.accepts) == (window, reasons, sees)
    assert "audio" not in traits.accepts


def test_deepseek_has_another_name_for_the_length_of_an_answer() -> None:
    assert ChatCompletions().options["max_tokens"] == "max_completion_tokens"
    assert ChatCompletions(max_tokens="max_tokens").options["max_tokens"] == "max_tokens"
