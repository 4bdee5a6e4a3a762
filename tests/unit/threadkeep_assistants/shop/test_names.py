"""Kinds and brands are found in what people write, also with a slip."""

import pytest

from threadkeep_assistants.shop.catalogue import brands_in, corrected, kinds_in
from threadkeep_assistants.vocabulary.words import Text


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
    found = kinds_in(Text(text))
    assert (found[0] if len(found) == 1 else None) == kind


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
    wanted, unwanted = brands_in(Text("a Galaxy or an iphone, no Nokia"))
    assert ([brand for _, brand in wanted], unwanted) == (["Apple", "Samsung"], ("Nokia",))
