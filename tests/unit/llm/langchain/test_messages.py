"""Messages go to LangChain and come back without a loss (R-A1, R-A7)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import UnknownRole
from threadkeep.llm.langchain.messages import from_langchain, text_of, to_langchain

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
