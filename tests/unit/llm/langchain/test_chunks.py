"""Chunks of every dialect of LangChain become our deltas."""

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, ToolCallChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk

from threadkeep.conversation.message import Usage
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import CallPart, Delta, Stopped, Text, Used
from threadkeep.llm.langchain.chunks import Chunks


def deltas(*chunks: AIMessage, is_orderly: bool = False) -> list[Delta]:
    taken = Chunks()
    said = [delta for chunk in chunks for delta in taken.deltas(chunk)]
    return [*said, *taken.end(is_orderly=is_orderly)]


def part(index: Any, id: str | None, name: str | None, args: str | None) -> AIMessageChunk:
    chunk: ToolCallChunk = tool_call_chunk(index=index, id=id, name=name, args=args)
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


def calls(*chunks: AIMessage) -> list[tuple[str, str, dict[str, Any]]]:
    made = Answer()
    for delta in deltas(*chunks):
        made.add(delta)
    return [(call.id, call.name, call.args) for call in made.calls(lambda: "new")]


def ended(**metadata: Any) -> AIMessageChunk:
    return AIMessageChunk(content="", response_metadata=metadata)


def test_text_comes_from_a_string_or_from_parts() -> None:
    parts: list[str | dict[str, Any]] = [
        {"type": "text", "text": "b", "index": 0},
        {"type": "thinking", "thinking": "x"},
    ]
    assert deltas(AIMessageChunk(content="a"), AIMessageChunk(content=parts)) == [Text("a"), Text("b")]


def test_an_empty_chunk_says_nothing() -> None:
    assert deltas(AIMessageChunk(content="")) == []


def test_a_character_that_was_sent_in_halves_is_put_together() -> None:
    chunks = [AIMessageChunk(content="hi \ud83d"), AIMessageChunk(content="\ude00 \udc00")]
    assert deltas(*chunks) == [Text("hi "), Text("😀 \ufffd")]


def test_calls_in_pieces_are_told_apart_by_index() -> None:
    chunks = [part(1, "a", "f", '{"x"'), part(2, "b", "g", ""), part(1, None, None, ": 1}"), part(2, None, None, "{}")]
    assert calls(*chunks) == [("a", "f", {"x": 1}), ("b", "g", {})]


def test_calls_without_an_index_are_told_apart_by_their_heads() -> None:
    chunks = [part(None, "a", "f", "{"), part(None, None, None, "}"), part(None, "b", "g", '{"y": 2}')]
    assert calls(*chunks) == [("a", "f", {}), ("b", "g", {"y": 2})]


def test_two_calls_with_one_index_are_told_apart_by_their_ids() -> None:
    assert calls(part(0, "a", "f", "{}"), part(0, "b", "g", "{}")) == [("a", "f", {}), ("b", "g", {})]


def test_two_calls_with_one_id_are_told_apart_by_their_index() -> None:
    assert calls(part(0, "a", "f", "{}"), part(1, "a", "g", "{}")) == [("a", "f", {}), ("call_new", "g", {})]


def test_a_whole_message_of_a_class_that_cannot_stream_is_taken_too() -> None:
    message = AIMessage(
        content="Done.",
        tool_calls=[tool_call(id="a", name="f", args={"x": 1})],
        invalid_tool_calls=[invalid_tool_call(id="b", name="g", args="{x", error=None)],
    )
    assert deltas(message, is_orderly=True) == [
        Text("Done."),
        CallPart(index=0, id="a", name="f", args='{"x": 1}'),
        CallPart(index=1, id="b", name="g", args="{x"),
        Stopped("end"),
    ]


def test_usage_is_summed_over_the_chunks() -> None:
    first = UsageMetadata(input_tokens=12, output_tokens=1, total_tokens=13, input_token_details={"cache_read": 8})
    second = UsageMetadata(input_tokens=0, output_tokens=4, total_tokens=4)
    chunks = [AIMessageChunk(content="", usage_metadata=usage) for usage in (first, second)]
    assert deltas(*chunks)[-1] == Used(Usage(input_tokens=12, output_tokens=5, cached_tokens=8))


def test_the_reason_comes_in_the_words_of_each_provider() -> None:
    assert deltas(ended(finish_reason="stop")) == [Stopped("stop")]
    assert deltas(ended(finish_reason="MAX_TOKENS")) == [Stopped("max_tokens")]
    assert deltas(ended(stop_reason="tool_use")) == [Stopped("tool_use")]
    assert deltas(ended(done_reason="stop")) == [Stopped("stop")]
    assert deltas(ended(status="in_progress"), ended(status="completed")) == [Stopped("stop")]
    assert deltas(ended(status="incomplete", incomplete_details={"reason": "max_output_tokens"})) == [
        Stopped("max_output_tokens")
    ]


def test_an_answer_without_a_reason_was_cut_off() -> None:
    assert deltas(AIMessageChunk(content="Hel")) == [Text("Hel")]
