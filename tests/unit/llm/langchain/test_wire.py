"""The events of each provider become our deltas, wherever the network cuts them."""

import json
from typing import Any

import pytest

from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text, Used
from threadkeep.llm.langchain.wire import (
    AnthropicReader,
    DeltaBuffer,
    Events,
    Reader,
    StreamedAPIError,
    read_gemini,
    read_openai_chat,
    read_openai_response,
)


def said(reader: Reader, *events: Any) -> list[Delta]:
    buffer = DeltaBuffer()
    for event in events:
        reader(event, buffer)
    return [*buffer.drain(), *buffer.end()]


def choice(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, **fields}]}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_whole_wherever_the_bytes_are_cut(end: str) -> None:
    text = end.join([": ping", "", "event: one", 'data: {"a": "é"}', "", 'data:{"b":', "data: 2}", "", "data: [DONE]"])
    sent = (text + end + end).encode()
    for cut in range(len(sent)):
        events = Events()
        assert [*events.feed(sent[:cut]), *events.feed(sent[cut:])] == [{"a": "é"}, {"b": 2}]


def test_half_an_event_at_the_end_says_nothing() -> None:
    assert list(Events().feed(b'data: {"a": 1}\n')) == []


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"error": {"message": "no", "code": 502}}, 502),
        ({"error": {"message": "no", "code": "server_error"}}, None),
        ({"error": "no"}, None),
        ([], None),
    ],
)
def test_an_error_or_nonsense_as_an_event_is_raised(event: Any, status: int | None) -> None:
    with pytest.raises(StreamedAPIError) as caught:
        list(Events().feed(f"data: {json.dumps(event)}\n\n".encode()))
    assert caught.value.status_code == status
    assert str(caught.value) in ("no", "an event is no object")


def test_chat_completions_are_read() -> None:
    head = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"x"'}}
    rest = {"index": 0, "function": {"arguments": ": 1}"}}
    counts = {"prompt_tokens": 12, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}
    assert said(
        read_openai_chat,
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


def test_a_character_in_halves_is_put_together() -> None:
    buffer = DeltaBuffer()
    read_openai_chat(choice(delta={"content": "hi \ud83d"}), buffer)
    assert list(buffer.drain()) == [Text("hi ")]
    read_openai_chat(choice(delta={"content": "\ude00"}), buffer)
    assert list(buffer.drain()) == [Text("😀")]


def test_responses_are_read() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}
    done = {"status": "completed", "usage": {"input_tokens": 12, "output_tokens": 5}}
    assert said(
        read_openai_response,
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
    assert said(read_openai_response, {"type": "response.incomplete", "response": cut}) == [
        Stopped("max_output_tokens")
    ]
    failed = {"status": "failed", "error": {"code": "server_error", "message": "no"}}
    with pytest.raises(StreamedAPIError, match="no"):
        said(read_openai_response, {"type": "response.failed", "response": failed})
    with pytest.raises(StreamedAPIError, match="no"):
        said(read_openai_response, {"type": "error", "code": "server_error", "message": "no"})


def test_messages_are_read_and_tools_that_the_provider_runs_are_left_to_it() -> None:
    start = {"input_tokens": 3, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 1, "output_tokens": 1}
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    tool = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    assert said(
        AnthropicReader(),
        {"type": "message_start", "message": {"usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "H"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "i"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": search},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_start", "index": 2, "content_block": tool},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
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


def test_contents_are_read() -> None:
    calls = [{"functionCall": {"name": "f", "args": {"x": 1}}}, {"functionCall": {"id": "c2", "name": "g"}}]
    assert said(
        read_gemini,
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Hi"}]}}]},
        {"candidates": [{"content": {"parts": calls}, "finishReason": "STOP"}]},
    ) == [
        Reasoned(text="hm"),
        Text("Hi"),
        CallPart(index=0, name="f", args='{"x": 1}'),
        CallPart(index=1, id="c2", name="g", args="{}"),
        Stopped("stop"),
    ]


def test_contents_that_go_on_elsewhere_were_cut_off_and_a_blocked_question_was_not() -> None:
    assert said(read_gemini, {"candidates": [{"finishReason": "CONTINUATION"}]}) == []
    assert said(read_gemini, {"promptFeedback": {"blockReason": "SAFETY"}}) == [Stopped("blocked: safety")]
