"""Specifications are numbers to compare and features to have."""

from threadkeep_assistants.shop.catalogue import features, features_in, kinds, products, units
from threadkeep_assistants.vocabulary.words import Text


def test_a_specification_is_a_number_and_what_stands_behind_it_a_feature() -> None:
    held = products()["P001"].metadata
    assert (held["screen"], held["storage"], held["has lcd"], held["has oled"]) == (5.4, 64, True, False)
    assert (held["kind"], held["brand"], held["price"]) == ("phone", "Samsung", 129)


def test_what_all_of_a_kind_have_can_be_asked_for_where_others_lack_it() -> None:
    assert "waterproof" in features("watch")
    assert "waterproof" not in features("phone")
    assert not any("sensor" in features(kind) for kind in kinds())


def test_units_tell_the_least_and_the_most() -> None:
    assert units("television")["screen"] == ("inch", 32, 83)


def test_features_are_found_by_other_words_too() -> None:
    assert set(features_in(Text("can it scan, and is it two-sided?"), "printer")) == {"duplex", "scanner"}
    assert set(features_in(Text("a backlit keyboard"), "keyboard")) == {"light"}
    assert not features_in(Text("something light"), "keyboard")
    assert set(features_in(Text("fully automatic"), "coffee machine")) == {"fully automatic"}
