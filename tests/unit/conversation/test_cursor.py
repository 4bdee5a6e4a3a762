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


@given(st.integers(0, 1000), st.integers(0, 200), st.none() | st.integers(0, 1000))
def test_a_position_leads_back_to_its_place(seq: int, index: int, offset: int | None) -> None:
    cursor = Cursor(seq=max(seq, 1) if index else seq, index=index)
    written = cursor if offset is None else cursor.model_copy(update={"message": "m", "offset": offset})
    position = written.position
    assert (position is None) == (index >= 64 and offset is not None)
    if position is not None:
        assert 0 <= position < 2**53
        assert Cursor.at(position) == (cursor, offset)


@given(st.integers(0, 2**53 + 10))
def test_a_number_is_a_position_or_refused(number: int) -> None:
    try:
        cursor, offset = Cursor.at(number)
    except InvalidCursor:
        assert number >= 2**53
        return
    again = cursor if offset is None else cursor.model_copy(update={"message": "m", "offset": offset})
    assert again.position in (number, None)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 9)), min_size=2, max_size=2))
def test_positions_rise_as_a_reader_goes_on(places: list[tuple[int, int, int]]) -> None:
    # The last event of an entry has index 0, so this is the order of events.
    steps = [(seq, index, offset) for seq, index, offset in places]
    made = [Cursor(seq=s + bool(i), index=i, message="m", offset=o).position or 0 for s, i, o in steps]
    assert (steps[0] < steps[1]) == (made[0] < made[1])


def test_what_has_no_room_in_a_number_has_no_position() -> None:
    assert Cursor(seq=2**23).position is None
    assert Cursor(seq=1, message="m", offset=2**23).position is None
    assert Cursor(seq=1, mark=5).position is None
    assert Cursor(seq=1, index=100).position is not None


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
