"""Outcomes: what a tool returns becomes text that every store can keep."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tools.samples import CONTEXT
from threadkeep.conversation.blocks import Block, Narrative, Table
from threadkeep.conversation.value import check_text
from threadkeep.tools.base import ToolFile, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import canonical, outcome_of


@dataclass
class Point:
    """A plain dataclass."""

    y: int
    x: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (2.5, "2.5"),
        (float("nan"), "null"),
        ({"b": 1, "a": [1, (2, 3)]}, '{"a":[1,[2,3]],"b":1}'),
        ([], "[]"),
        (Point(y=2, x=1), '{"x":1,"y":2}'),
        (Decimal("1.50"), '"1.50"'),
        (datetime(2026, 11, 15, tzinfo=UTC), '"2026-11-15T00:00:00Z"'),
        ({"Zürich": "日本語"}, '{"Zürich":"日本語"}'),
    ],
)
def test_a_value_becomes_text(value: object, text: str) -> None:
    assert outcome_of(value) == ToolOutcome(content=text)


def test_blocks_become_blocks_with_a_text_beside_them() -> None:
    table = Table(columns=["a"], rows=[[1]])
    outcome = outcome_of([Narrative(text="Here it is:"), table])
    assert outcome.blocks == (Narrative(text="Here it is:"), table)
    assert outcome.content == 'Here it is:\n{"columns":["a"],"rows":[[1]],"type":"table"}'
    assert outcome_of(table).blocks == (table,)


def test_a_block_of_an_unknown_type_keeps_its_fields() -> None:
    block = Block.model_validate({"type": "map", "zoom": 3})
    assert outcome_of(block) == ToolOutcome(content='{"type":"map","zoom":3}', blocks=(block,))


def test_an_outcome_is_kept_with_its_state() -> None:
    outcome = ToolOutcome(content="done", state={"step": 2}, unset=("draft",))
    assert outcome_of(outcome) == outcome


@pytest.mark.parametrize("state", [{"when": datetime.now(UTC)}, {"x": float("inf")}, {1: 2}, {"s": "\ud800"}])
def test_a_state_that_is_not_json_is_a_failure(state: dict[Any, Any]) -> None:
    outcome = outcome_of(ToolOutcome(content="done", state=state))
    assert outcome.error is not None
    assert outcome.error.startswith("The tool returned a state that cannot be stored")
    assert outcome.state == {}


async def test_a_value_that_has_no_json_form_is_a_failure() -> None:
    @tool
    async def strange() -> object:
        return object()

    outcome = await strange.run({}, CONTEXT)
    assert outcome.error is not None
    assert "Unable to serialize unknown type" in outcome.error


def test_a_lone_surrogate_is_replaced() -> None:
    assert outcome_of("a\ud800b").content == "a?b"
    assert outcome_of(["a\ud800b"]).content == '["a?b"]'
    assert outcome_of(ToolOutcome(content="\udfff", error="\udfff")) == ToolOutcome(content="?", error="?")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_becomes_one_that_can_be_stored(text: str) -> None:
    check_text(outcome_of(text).content)
    check_text(canonical([{"text": text}]))


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_equal_values_give_equal_text(value: dict[str, Any]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_files_that_a_tool_returns_are_its_files() -> None:
    first, second = (ToolFile(media_type="image/png", data=data) for data in (b"1", b"2"))
    assert outcome_of(first).files == (first,)
    assert outcome_of([first, second]).files == (first, second)
