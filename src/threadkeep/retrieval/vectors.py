"""Vectors as an index keeps them: of length 1, so that only the direction counts, in 4 bytes a number."""

import math
from array import array
from collections.abc import Sequence

from threadkeep.errors import EmbeddingFailed
from threadkeep.retrieval.embeddings import Vector


def unit(vector: Vector) -> Vector | None:
    """Return the vector with length 1; None if it has no direction. Refuse what is no vector."""
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not math.isfinite(length) or not vector:
        raise EmbeddingFailed
    return [number / length for number in vector] if length else None


def blended(vectors: Sequence[tuple[Vector, float]]) -> Vector | None:
    """Return the direction between some, each with its weight; None if there is none."""
    weighted = [[number * weight for number in each] for vector, weight in vectors if (each := unit(vector))]
    return unit([sum(numbers) for numbers in zip(*weighted, strict=True)]) if weighted else None


def packed(vector: Vector) -> bytes:
    """Return the vector as sqlite-vec reads it."""
    return array("f", vector).tobytes()
