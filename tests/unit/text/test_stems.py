"""Words without their endings."""

import pytest

from threadkeep.text.stems import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Phones", "phone"),
        ("companies", "company"),
        ("boxes", "box"),
        ("classes", "class"),
        ("class", "class"),
        ("status", "status"),
        ("bus", "bus"),
        ("Apple's", "apple"),
        ("Apple’s", "apple"),
        ("", ""),
        ("s", "s"),
        ("安", "安"),
    ],
)
def test_a_plural_and_its_singular_are_one_word(word: str, expected: str) -> None:
    assert stem(word) == expected
