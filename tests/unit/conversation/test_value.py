"""What values refuse: text that is no Unicode, JSON that is none, depth without end; and that they are frozen."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.value import MAX_DEPTH, check_json, check_text
from threadkeep.errors import InvalidId, InvalidText, InvalidValue, ThreadkeepError, TooDeep


def _nested(depth: int) -> Any:
    value: Any = "core"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


@given(st.text())
def test_text_that_can_be_written_as_utf_8_is_taken_as_it_is(text: str) -> None:
    assert check_text(text) == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "pair \udc80\ud83d"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises(InvalidText):
        check_text(text)


def test_bytes_are_taken_as_utf_8_or_refused() -> None:
    assert check_text("日本".encode()) == "日本"
    for raw in (b"\xff\xfe", b"\xc3", b"\xed\xa0\x80"):
        with pytest.raises(InvalidText):
            check_text(raw)


@pytest.mark.parametrize("value", [None, 7, 1.5, ["a"], {"a": 1}, pytest.param(object(), id="object")])
def test_what_is_no_string_is_no_text(value: object) -> None:
    with pytest.raises(InvalidValue):
        check_text(value)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json)
def test_plain_json_is_taken_as_it_is(value: object) -> None:
    assert check_json(value) is value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        {"a": [float("nan")]},
        b"bytes",
        {1: "number as key"},
        {None: 1},
        {"a": {1, 2}},
        pytest.param(object(), id="object"),
        datetime(2026, 1, 1, tzinfo=UTC),
        1j,
    ],
    ids=repr,
)
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue):
        check_json(value)


@pytest.mark.parametrize("value", ["\ud800", ["\ud800"], {"\ud800": 1}, {"a": {"b": ["\udfff"]}}])
def test_a_lone_surrogate_is_refused_wherever_it_hides(value: object) -> None:
    with pytest.raises(InvalidText):
        check_json(value)


def test_json_may_be_nested_so_deep_and_no_deeper() -> None:
    assert check_json(_nested(MAX_DEPTH - 1)) is not None
    for depth in (MAX_DEPTH, MAX_DEPTH + 1, 10_000, 100_000):
        with pytest.raises(TooDeep):
            check_json(_nested(depth))


def test_a_structure_that_holds_itself_is_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TooDeep):
        check_json(loop)


def test_a_value_is_frozen() -> None:
    with pytest.raises(ValidationError):
        LOCAL.user = "other"  # type: ignore[misc]


def test_a_value_refuses_fields_that_it_does_not_know() -> None:
    with pytest.raises(ValidationError):
        Scope(tenant="a", user="b", role="admin")  # type: ignore[call-arg]


def test_moments_are_kept_in_utc() -> None:
    moment = datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    conversation = Conversation(
        scope=LOCAL,
        id="c",
        created_at=moment,
        updated_at=datetime(2026, 1, 1, 12),  # noqa: DTZ001
    )
    assert conversation.created_at == conversation.updated_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert conversation.created_at.tzinfo is UTC


def test_the_errors_of_checks_are_of_our_own_tree() -> None:
    for error in (InvalidText, InvalidValue, TooDeep, InvalidId):
        assert issubclass(error, ThreadkeepError)
        assert not issubclass(error, ValueError)
