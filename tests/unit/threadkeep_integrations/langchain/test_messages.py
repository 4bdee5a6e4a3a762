"""Messages go to LangChain and come back without a loss (R-A1, R-A7).

ChunkReader of every dialect of LangChain become our deltas.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.errors import UnknownRole
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import CallPart, Delta, Stopped, Text, Used
from threadkeep_integrations.langchain.messages import ChunkReader, from_langchain, text_of, to_langchain

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
calls = st.builds(ToolCall, id=names, name=names, args=st.dictionaries(texts, values, max_size=3))
results = st.builds(
    ToolResult, tool_call_id=names, duration_ms=st.none() | st.integers(0, 10_000), error=st.none() | names
)
messages = st.one_of(
    st.builds(Message, role=st.sampled_from([Role.SYSTEM, Role.USER]), content=texts),
    st.builds(Message, role=st.just(Role.ASSISTANT), content=texts, tool_calls=st.lists(calls, max_size=3).map(tuple)),
    st.builds(Message, role=st.just(Role.TOOL), content=texts, tool_result=results),
)


@given(st.lists(messages, max_size=6))
def test_there_and_back_is_the_same(said: list[Message]) -> None:
    assert from_langchain(to_langchain(said)) == tuple(said)


def test_each_role_has_its_class() -> None:
    call = ToolCall(id="c1", name="get_budget", args={"cost_center": "CC-1001"})
    system, human, ai, tool = to_langchain(
        [
            Message(role=Role.SYSTEM, content="Be brief."),
            Message(role=Role.USER, content="Budget?"),
            Message(role=Role.ASSISTANT, tool_calls=(call,)),
            Message(role=Role.TOOL, content="{}", tool_result=ToolResult(tool_call_id="c1", error="no")),
        ]
    )
    assert isinstance(system, SystemMessage)
    assert isinstance(human, HumanMessage)
    assert isinstance(ai, AIMessage)
    assert isinstance(tool, ToolMessage)
    assert ai.tool_calls == [
        {"id": "c1", "name": "get_budget", "args": {"cost_center": "CC-1001"}, "type": "tool_call"}
    ]
    assert (tool.tool_call_id, tool.name, tool.status) == ("c1", "get_budget", "error")


def test_messages_made_by_langchain_are_taken() -> None:
    ai = AIMessage(content=[{"type": "text", "text": "Hel"}, {"type": "reasoning", "text": "hm"}, "lo"], id="run:1")
    failed = ToolMessage(content="it broke", tool_call_id="c1", status="error")
    said, told = from_langchain([ai, failed])
    assert said.content == "Hello"
    assert told.tool_result is not None
    assert told.tool_result.error == "it broke"


def test_a_role_that_we_do_not_have_is_refused() -> None:
    with pytest.raises(UnknownRole):
        from_langchain([ChatMessage(content="hi", role="critic")])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([], ""),
        ([{"type": "text", "text": "a", "index": 0}, {"type": "image_url", "image_url": "x"}], "a"),
        ([{"type": "text", "text": None}], ""),
    ],
)
def test_the_text_of_a_content_is_the_text_of_its_parts(content: Any, text: str) -> None:
    assert text_of(content) == text


def deltas(*chunks: AIMessage, is_orderly: bool = False) -> list[Delta]:
    taken = ChunkReader()
    said = [delta for chunk in chunks for delta in taken.deltas(chunk)]
    return [*said, *taken.end(is_orderly=is_orderly)]


def part(index: Any, id: str | None, name: str | None, args: str | None) -> AIMessageChunk:
    chunk: ToolCallChunk = tool_call_chunk(index=index, id=id, name=name, args=args)
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


def calls_in(*chunks: AIMessage) -> list[tuple[str, str, dict[str, Any]]]:
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
    assert calls_in(*chunks) == [("a", "f", {"x": 1}), ("b", "g", {})]


def test_calls_without_an_index_are_told_apart_by_their_heads() -> None:
    chunks = [part(None, "a", "f", "{"), part(None, None, None, "}"), part(None, "b", "g", '{"y": 2}')]
    assert calls_in(*chunks) == [("a", "f", {}), ("b", "g", {"y": 2})]


def test_two_calls_with_one_index_are_told_apart_by_their_ids() -> None:
    assert calls_in(part(0, "a", "f", "{}"), part(0, "b", "g", "{}")) == [("a", "f", {}), ("b", "g", {})]


def test_two_calls_with_one_id_are_told_apart_by_their_index() -> None:
    assert calls_in(part(0, "a", "f", "{}"), part(1, "a", "g", "{}")) == [("a", "f", {}), ("call_new", "g", {})]


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
