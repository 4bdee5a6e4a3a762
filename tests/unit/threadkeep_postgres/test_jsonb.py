"""JSON and text in PostgreSQL's shape: what a JSONB column would lose comes back exactly, and most stays as it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_postgres.jsonb import dump, dump_text, escape, load, load_text, restore

TRICKY = ["\x00", "\x1a", "\x1a0", "\x1a1", "\x1af1.0", "\x1ao", "\\u0000", "\\u001a", "\\", "é", "日本", ""]
text = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
numbers = st.one_of(
    st.integers(-(2**200), 2**200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e16, 1e300, 5e-324, 1.0, -1e22]),
)
plain = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


def _through_jsonb(stored: str) -> str:
    """Return what a JSONB column makes of a text: no U+0000, keys by length and bytes, numbers without an exponent."""
    assert "\\u0000" not in stored.replace("\\\\", "")

    def sort(value: Any) -> Any:
        if isinstance(value, dict):
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return {key: sort(value[key]) for key in keys}
        return [sort(item) for item in value] if isinstance(value, list) else value

    def number(digits: str) -> float | int:
        value = float(digits)
        return int(value) if "e" in digits and value.is_integer() else value

    return json.dumps(sort(json.loads(stored, parse_float=number)), ensure_ascii=False)


@given(plain)
def test_every_value_comes_back_with_its_types_and_the_order_of_its_keys(value: Any) -> None:
    assert repr(load(_through_jsonb(dump(value)))) == repr(value)


@given(plain)
def test_json_text_comes_back_as_equal_text(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    stored = dump_text(written)
    assert stored is not None
    found = load_text(_through_jsonb(stored))
    assert found is not None
    assert repr(json.loads(found)) == repr(value)


@given(text)
def test_text_comes_back_and_has_no_nul_in_between(value: str) -> None:
    assert "\x00" not in escape(value)
    assert restore(escape(value)) == value


@given(text, text)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@pytest.mark.parametrize("value", [{"a": 1, "bb": [True, None, 1.5]}, ["x", "ü"], {}, "text", 7])
def test_what_nothing_would_happen_to_is_stored_as_it_is(value: Any) -> None:
    assert json.loads(dump(value)) == value
    assert "\\u001a" not in dump(value)


def test_nothing_is_nothing() -> None:
    assert dump_text(None) is None
    assert load_text(None) is None
