"""Kinds and brands are found in what people write, also with a slip."""

import pytest

from threadkeep_assistants.shop.names import brands_in, corrected, kind_in


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("watches", "watch"),
        ("a vacuum", "vacuum cleaner"),
        ("watchful", None),
        ("my earbuds", "headphones"),
        ("TVs", "television"),
        ("Kopfhörer", "headphones"),
        ("a phone with a good camera", "phone"),
        ("phones and cameras", None),
        ("", None),
    ],
)
def test_a_kind_is_told_by_its_names(text: str, kind: str | None) -> None:
    assert kind_in(text) == kind


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("phnes under 500", "phones under 500"),
        ("the samsnug one", "the samsung one"),
        ("headpones for running", "headphones for running"),
        ("a gaming laptop", "a gaming laptop"),
        ("photos at night", "photos at night"),
        ("Jabra", "Jabra"),
    ],
)
def test_slips_are_put_right_and_other_words_left_alone(text: str, right: str) -> None:
    assert corrected(text) == right


def test_brands_are_wanted_or_not() -> None:
    assert brands_in("a Galaxy or an iphone, no Nokia") == (("Apple", "Samsung"), ("Nokia",))
