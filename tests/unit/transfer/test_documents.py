"""JSON of any size, element by element, and what is refused while it is read."""

import io
import json
from typing import Any

import pytest

from threadkeep.errors import ImportDamaged, ImportTooLarge
from threadkeep.transfer.documents import MAX_DEPTH, Bounds, check_values, elements, values_at_most
from threadkeep.transfer.portable import ImportProblem

SMALL = Bounds(element=1000, values=10, directory=1000)


class Pieces(io.BytesIO):
    """A file that is read in pieces of a size, as members of archives are."""

    piece = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, self.piece))


def read(data: bytes, piece: int = 65536) -> list[Any]:
    file = Pieces(data)
    file.piece = piece
    return [each.code if isinstance(each, ImportProblem) else each for each in elements(file, "f", SMALL)]


@pytest.mark.parametrize("data", [b'[{"a": 1}, [2.5]]', b'{"a": 1}\n[2.5]\n', b'\xef\xbb\xbf[{"a": 1}, [2.5]]'])
def test_a_list_and_values_that_follow_each_other_are_the_same_elements(data: bytes) -> None:
    assert read(data) == [("f, element 1", {"a": 1}), ("f, element 2", [2.5])]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'[{"a": 1}, {"a"', "import_damaged"),
        (b'[{"a": 1}, 7]', "unknown_format"),
        (b'[{"a": 1}, [1,2,3,4,5,6,7,8,9,10]]', "import_too_large"),
        (b'[{"a": 1}, {"a": "' + b"x" * 200_000 + b'"}]', "import_too_large"),
    ],
)
def test_what_is_wrong_ends_the_reading_and_what_came_before_counts(data: bytes, code: str) -> None:
    found = read(data)
    assert found[-1] == code
    assert len(found) <= 2


def test_depth_has_an_end() -> None:
    wide = SMALL._replace(values=10_000)
    (problem,) = elements(io.BytesIO(b"[" * (MAX_DEPTH + 2)), "f", wide)
    assert isinstance(problem, ImportProblem)
    assert problem.code == "too_deep"


def test_nothing_and_white_space_hold_no_elements() -> None:
    assert read(b"") == read(b" \n ") == read(b"[]") == []


LARGE = [b"9" * 5000, b"-" + b"9" * 5000, b"1E+99999999999999999999", b"1e400"]


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("shape", [b"%s", b"[%s]", b'[{"a": %s}]', b"{} %s"])
def test_a_number_that_no_machine_has_is_refused_and_the_process_lives(number: bytes, shape: bytes) -> None:
    assert read(shape % number)[-1] in ("import_damaged", "unknown_format")


@pytest.mark.parametrize("pieces", [1, 7, 999, 65536])
def test_a_text_of_many_digits_is_a_text_and_a_large_number_is_a_number(pieces: int) -> None:
    value = {"a": "9" * 5000, '"9\\': f'\\"{"9" * 2000}', "b\\": 2**200, "c": [12, 1.5]}
    assert read(json.dumps([value]).encode(), pieces) == [("f, element 1", value)]


@pytest.mark.parametrize("pieces", [1, 7, 999, 65536])
def test_a_number_that_no_machine_has_is_seen_in_any_pieces(pieces: int) -> None:
    assert read(b'[{"a\\\\": "\\"", "b": ' + b"9" * 5000 + b"}]", pieces)[-1] == "import_damaged"


def test_a_line_with_too_many_values_or_that_is_no_json_is_refused() -> None:
    check_values(b"[1,2]", 3)
    with pytest.raises(ImportTooLarge):
        check_values(b"[1,2,3]", 3)
    assert values_at_most(b'{"a":[1,2]}') >= 3


@pytest.mark.parametrize(
    "hidden", [*LARGE, b"9" * 20, b"1." + b"1" * 9000, b'"\\ud8341234567890123456789\\udc00"', b'"\\udc00"', b"01"]
)
def test_no_value_keeps_those_behind_it_from_being_counted(hidden: bytes) -> None:
    with pytest.raises((ImportTooLarge, ImportDamaged)):
        check_values(b'{"a": ' + hidden + b', "b": [[], [], []]}', 3)
