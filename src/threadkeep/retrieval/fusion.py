"""One ranking out of two: how well the words of a passage fit, and how near its vector is.

The scores are added, not only the places, because a word that only one passage has says more than a place can. Each
side is brought to 0..1 first. The shares were measured (`bench/followups.py`).
"""

from collections.abc import Mapping

VECTOR_SHARE = 0.35


def fuse(words: Mapping[int, float], vectors: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return what either side found with its score from 0 to 1, the best first; of equals the older one."""
    best = max(words.values(), default=0.0)
    far, near = min(vectors.values(), default=0.0), max(vectors.values(), default=0.0)
    scores = {
        key: (1 - VECTOR_SHARE) * (words.get(key, 0.0) / best if best else 0.0)
        + VECTOR_SHARE * ((vectors.get(key, far) - far) / (near - far) if near > far else float(key in vectors))
        for key in words.keys() | vectors.keys()
    }
    return sorted(scores.items(), key=lambda found: (-found[1], found[0]))
