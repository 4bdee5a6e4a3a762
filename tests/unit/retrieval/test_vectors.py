"""Vectors as an index keeps them."""

import math

import pytest

from threadkeep.errors import EmbeddingFailed
from threadkeep.retrieval.embeddings import blended, packed, unit


def test_only_the_direction_counts() -> None:
    assert unit([3.0, 4.0]) == unit([30.0, 40.0]) == [0.6, 0.8]


def test_zeros_have_no_direction() -> None:
    assert unit([0.0, 0.0]) is None
    assert blended([([0.0, 0.0], 1.0)]) is None
    assert blended([([1.0, 0.0], 1.0), ([-1.0, 0.0], 1.0)]) is None


def test_a_weight_turns_the_direction() -> None:
    assert blended([([2.0, 0.0], 1.0), ([0.0, 9.0], 0.75)]) == pytest.approx([0.8, 0.6])
    assert blended([([0.0, 0.0], 1.0), ([0.0, 9.0], 0.5)]) == [0.0, 1.0]


@pytest.mark.parametrize("vector", [[], [math.nan, 1.0], [math.inf]])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(vector)


def test_a_number_takes_four_bytes() -> None:
    assert packed([1.0, 0.0]) == bytes.fromhex("0000803f00000000")
