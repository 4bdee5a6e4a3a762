"""One ranking out of two."""

import pytest

from threadkeep_retrieval.sqlite.reading import VECTOR_SHARE, fuse


def test_what_both_sides_find_comes_before_what_one_of_them_finds() -> None:
    assert fuse({1: 5.0, 2: 4.9}, {2: 0.8, 3: 0.79, 4: 0.1})[0][0] == 2


def test_a_side_that_found_nothing_leaves_the_order_to_the_other() -> None:
    assert [key for key, _ in fuse({1: 1.0, 2: 3.0}, {})] == [2, 1]
    assert [key for key, _ in fuse({}, {1: 0.2, 2: 0.9})] == [2, 1]
    assert fuse({}, {}) == []


def test_the_best_of_both_sides_has_the_score_1() -> None:
    assert fuse({7: 12.5, 8: 1.0}, {7: 0.4, 8: 0.1})[0] == pytest.approx((7, 1.0))


def test_a_single_vector_is_the_nearest_there_is() -> None:
    assert fuse({}, {3: 0.2})[0] == pytest.approx((3, VECTOR_SHARE))


def test_words_that_say_nothing_do_no_harm() -> None:
    assert [key for key, _ in fuse({1: 0.0, 2: 0.0}, {2: 0.5})] == [2, 1]


def test_of_equals_the_older_one_comes_first() -> None:
    assert [key for key, _ in fuse({9: 1.0, 4: 1.0, 6: 1.0}, {})] == [4, 6, 9]
