"""Ids: rising UUIDv7, and which ids of others are harmless."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.ids import Uuid7, check_id, new_id
from threadkeep.errors import InvalidId


def test_an_id_is_a_uuid_of_version_7_that_holds_the_time() -> None:
    number = UUID(Uuid7(lambda: 1_767_225_600_000)())
    assert (number.version, number.variant) == (7, "specified in RFC 4122")
    assert number.int >> 80 == 1_767_225_600_000


def test_ids_rise_while_the_clock_stands_still_or_goes_back() -> None:
    moments = iter([5_000, 5_000, 4_000, 1, *([5_000] * 5_000)])
    source = Uuid7(lambda: next(moments))
    made = [source() for _ in range(5_000)]
    assert made == sorted(set(made))


def test_ids_made_by_many_threads_are_all_different() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_id(), range(4_000)))
    assert len(set(made)) == 4_000


def test_an_id_of_ours_is_valid() -> None:
    made = new_id()
    assert check_id(made) == made


@pytest.mark.parametrize("text", ["a", "7", "x" * 128, "20240115_103000", "session-1.v2", "A.B-C_D", "a..b", "0"])
def test_an_id_that_is_harmless_everywhere_is_taken(text: str) -> None:
    assert check_id(text) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", "x" * 129, ".", "..", ".hidden", "-flag", "_x", "a/b", "a\\b", "a b", "a\n", "a\x00", "é", "a:b", "a%2f"],
)
def test_an_id_that_could_harm_somewhere_is_refused(text: str) -> None:
    with pytest.raises(InvalidId):
        check_id(text)


@pytest.mark.parametrize("value", [None, 7, b"abc", ["a"], {"id": "a"}, 1.5, True])
def test_an_id_that_is_no_string_is_refused(value: object) -> None:
    with pytest.raises(InvalidId):
        check_id(value)


def test_ten_megabytes_are_no_id() -> None:
    with pytest.raises(InvalidId):
        check_id("x" * 10_000_000)


@given(st.text())
def test_an_id_that_is_taken_stays_in_its_folder_and_on_its_line(text: str) -> None:
    try:
        check_id(text)
    except InvalidId:
        return
    assert text.isascii()
    assert text.isprintable()
    assert not set(text) & set("/\\:*?\"'<>| ")
    assert text[0] not in ".-"
