"""Cursors: what goes in comes out, for the same conversation only."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.cursor import MAX_SEQ, Cursor, seal, unseal
from threadkeep.errors import InvalidCursor

numbers = st.integers(0, MAX_SEQ)
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,40}", fullmatch=True)
cursors = st.one_of(
    st.builds(Cursor, seq=numbers, index=numbers),
    st.builds(Cursor, seq=numbers, index=numbers, message=ids, offset=numbers, mark=numbers),
)


@given(cursors, ids)
def test_a_cursor_comes_back_as_it_was(cursor: Cursor, conversation: str) -> None:
    text = cursor.encode(conversation)
    assert Cursor.decode(text, conversation) == cursor
    assert text.isascii()
    assert "\n" not in text


def test_zero_is_the_beginning_of_every_log() -> None:
    assert Cursor.decode("0", "any") == Cursor()


@given(cursors, ids, ids)
def test_a_cursor_is_refused_in_another_conversation(cursor: Cursor, mine: str, theirs: str) -> None:
    if mine == theirs:
        return
    with pytest.raises(InvalidCursor):
        Cursor.decode(cursor.encode(mine), theirs)


@given(cursors, st.data())
def test_a_cursor_that_was_cut_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    text = cursor.encode("c")
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    if cut == "0":
        return
    with pytest.raises(InvalidCursor):
        Cursor.decode(cut, "c")


@given(cursors, st.data())
def test_a_cursor_with_one_character_changed_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    text = cursor.encode("c")
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda sign: sign != text[at]))
    with pytest.raises(InvalidCursor):
        Cursor.decode(text[:at] + other + text[at + 1 :], "c")


@given(st.text(max_size=60))
def test_a_text_that_nobody_handed_out_is_refused(text: str) -> None:
    if text == "0":
        return
    with pytest.raises(InvalidCursor):
        Cursor.decode(text, "c")


@pytest.mark.parametrize(
    "place",
    ["", "1", "1.2.3", "1.2.3.", "1.2.3.../etc", "-1.0", "x.0", "1.0.5.bad id", f"{MAX_SEQ + 1:x}.0", "1.0.-5.m"],
)
def test_a_place_that_cannot_be_is_refused_even_if_it_is_sealed(place: str) -> None:
    with pytest.raises(InvalidCursor):
        Cursor.decode(seal(place, "c"), "c")


@pytest.mark.parametrize("value", [None, 7, b"0", ["0"]])
def test_a_cursor_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(InvalidCursor):
        unseal(value, "c")


def test_a_long_text_is_refused_without_being_read() -> None:
    with pytest.raises(InvalidCursor):
        Cursor.decode("A" * 10_000_000, "c")
