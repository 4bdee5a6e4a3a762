"""Messages and blocks: what fits together, what is refused, and that nothing unknown is lost."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from threadkeep.conversation.blocks import AnyBlock, Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import InvalidId, InvalidText, InvalidValue, TooDeep, UnknownRole

BLOCK: TypeAdapter[AnyBlock] = TypeAdapter(AnyBlock)


@pytest.mark.parametrize("role", ["robot", "", "USER", None, 7, ["user"], {"role": "user"}])
def test_an_unknown_role_is_refused(role: Any) -> None:
    with pytest.raises(UnknownRole):
        Message(role=role, content="x")


@pytest.mark.parametrize("id", ["", "../x", "a\x00", "x" * 129, 7])
def test_a_message_with_a_bad_id_is_refused(id: Any) -> None:
    with pytest.raises(InvalidId):
        Message(id=id, role=Role.USER)


def test_messages_get_ids_of_their_own() -> None:
    assert Message(role=Role.USER).id != Message(role=Role.USER).id


@pytest.mark.parametrize(
    ("content", "error"), [("\ud800", InvalidText), (b"\xff", InvalidText), (7, InvalidValue), (None, InvalidValue)]
)
def test_content_that_is_no_text_is_refused(content: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Message(role=Role.USER, content=content)


def test_a_tool_message_says_which_call_it_answers_and_no_other_does() -> None:
    assert Message(role=Role.TOOL, tool_result=ToolResult(tool_call_id="c")).tool_result is not None
    with pytest.raises(InvalidValue):
        Message(role=Role.TOOL, content="result of nothing")
    with pytest.raises(InvalidValue):
        Message(role=Role.USER, tool_result=ToolResult(tool_call_id="c"))


def test_only_an_assistant_calls_tools() -> None:
    call = ToolCall(id="c", name="search")
    assert Message(role=Role.ASSISTANT, tool_calls=(call,)).tool_calls == (call,)
    for role in (Role.USER, Role.SYSTEM):
        with pytest.raises(InvalidValue):
            Message(role=role, tool_calls=(call,))


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"type": "narrative", "text": "prose"}, Narrative),
        ({"type": "ranked_list", "rows": [{"ticker": "A", "score": 1}]}, RankedList),
        ({"type": "split_compare", "leftTitle": "a", "rightTitle": "b", "left": [1], "right": None}, SplitCompare),
        ({"type": "table", "columns": ["a"], "rows": [[1], ["x"]]}, Table),
        ({"type": "chart", "chart": "line", "series": [{"x": [1, 2]}]}, Chart),
        ({"type": "citation", "source": "https://example.org", "page": 3}, Citation),
        ({"type": "from_the_future", "anything": {"goes": [1, None]}}, Block),
        ({"type": "narrative", "text": "prose", "tone": "calm", "nested": {"z": 1, "a": 2}}, Narrative),
    ],
)
def test_a_block_keeps_every_field_it_was_given(fields: dict[str, Any], kind: type[Block]) -> None:
    block = BLOCK.validate_python(fields)
    assert type(block) is kind
    assert block.model_dump() == fields
    assert list(block.model_dump()) == list(fields)


@pytest.mark.parametrize("fields", [{}, {"type": ""}, {"type": "x" * 65}, {"type": "narrative"}, {"type": "table"}])
def test_a_block_without_what_its_type_needs_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BLOCK.validate_python(fields)


def test_a_block_that_is_nested_10000_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(TooDeep):
        Message(role=Role.ASSISTANT, blocks=({"type": "other", "deep": deep},))  # type: ignore[arg-type]
    with pytest.raises(TooDeep):
        ToolCall(id="c", name="n", args={"deep": deep})


@pytest.mark.parametrize("value", [float("nan"), b"raw", {1: 2}])
def test_a_block_that_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue):
        BLOCK.validate_python({"type": "other", "value": value})


def test_a_block_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidText):
        BLOCK.validate_python({"type": "narrative", "text": "\ud800"})
