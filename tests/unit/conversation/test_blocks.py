"""Blocks: nothing that is unknown is lost, and what is no block is refused."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from threadkeep.conversation.blocks import AnyBlock, Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.errors import InvalidText, InvalidValue, TooDeep

BLOCK: TypeAdapter[AnyBlock] = TypeAdapter(AnyBlock)


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
