"""Values of a graph as JSON: they come back the same, and nothing comes out that was not put in."""

import json
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal
from operator import is_
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from threadkeep_integrations.langgraph.forms import FormError, Item, StrictSerializer, form_of, value_of, values_of

SERDE = StrictSerializer()
CALL = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
VALUES: list[Any] = [
    None,
    True,
    3,
    2.5,
    "text \x00 \ud800",
    [],
    {},
    [1, {"a": [None]}],
    {1: "a"},
    {1, 2},
    b"bytes",
    datetime(2026, 1, 1, tzinfo=UTC),
    UUID(int=1),
    Decimal("1.5"),
    deque([1]),
    HumanMessage("hello", id="m"),
    HumanMessage([{"type": "text", "text": "hello"}]),
    AIMessage("", tool_calls=[CALL], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    AIMessage("x", additional_kwargs={"at": datetime(2026, 1, 1, tzinfo=UTC)}),
    AIMessageChunk(content="part"),
    ToolMessage("done", tool_call_id="c1", artifact={"a": 1}, status="error"),
    SystemMessage("be brief", name="n"),
    RemoveMessage(id="m"),
    [HumanMessage("a"), AIMessage("b"), RemoveMessage(id="c")],
]


@pytest.mark.parametrize("value", [value for value in VALUES if "\ud800" not in str(value)], ids=repr)
def test_a_value_comes_back_the_same(value: Any) -> None:
    back = value_of(json.loads(json.dumps(form_of(value, SERDE))), SERDE)
    assert back == value
    assert type(back) is type(value)


def test_what_no_encoding_has_is_kept_as_plain_json() -> None:
    assert form_of(VALUES[4], SERDE) == {"json": VALUES[4]}


def test_what_comes_out_is_nobody_elses() -> None:
    form = form_of({"a": [1]}, SERDE)
    value_of(form, SERDE)["a"].append(2)
    assert value_of(form, SERDE) == {"a": [1]}


def test_a_message_is_the_same_object_until_somebody_changes_it() -> None:
    item = Item(form_of(AIMessage("a", additional_kwargs={"x": {"y": 1}}), SERDE))
    given = item.value(SERDE)
    assert item.value(SERDE) is given
    given.additional_kwargs["x"]["y"] = 2
    given = item.value(SERDE)
    assert given.additional_kwargs == {"x": {"y": 1}}
    given.content = "b"
    given = item.value(SERDE)
    assert given.content == "a"
    given.more = 1
    assert item.value(SERDE) == AIMessage("a", additional_kwargs={"x": {"y": 1}})


@pytest.mark.parametrize("place", [-1, 3])
def test_a_message_that_somebody_changed_in_place_is_as_it_was_before_long(place: int) -> None:
    items = [Item(form_of(HumanMessage(str(number)), SERDE)) for number in range(2000)]
    first = values_of(items, SERDE)
    assert all(map(is_, values_of(items, SERDE), first))
    first[place].content = first[0].content = "changed"
    found = values_of(items, SERDE)
    for _ in range(1000):
        if found[place].content != "changed":
            break
        found = values_of(items, SERDE)
    assert [message.content for message in found] == [str(number) for number in range(2000)]
    mixed = [*items[:2], Item({"json": {"a": 1}})]
    values_of(mixed, SERDE)[2]["a"] = 2
    assert values_of(mixed, SERDE)[1:] == [HumanMessage("1"), {"a": 1}]


@pytest.mark.parametrize(
    "form", [{}, {"json": 1, "x": 2}, {"message": ["os", {}]}, {"bytes": ["pickle", ""]}, {"list": 1}]
)
def test_other_forms_are_refused(form: Any) -> None:
    if form.keys() == {"json", "x"}:
        assert value_of(form, SERDE) == 1
        return
    with pytest.raises(FormError):
        value_of(form, SERDE)
