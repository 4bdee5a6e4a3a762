"""Kinds and brands are found in what people write."""

import pytest

from threadkeep_assistants.shop.catalogue import brands_in, kinds_in
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


def test_brands_are_wanted_or_not() -> None:
    wanted, unwanted = brands_in(Text("a Samsung or an Apple, no Nokia"))
    assert ([brand for _, brand in wanted], unwanted) == (["Apple", "Samsung"], ("Nokia",))
