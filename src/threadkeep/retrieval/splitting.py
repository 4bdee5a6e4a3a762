"""Long texts as passages: stretches that fit a prompt and mean one thing, cut where a reader would pause.

Neighbours overlap, so that what stands across a cut is found whole in one of them.
"""

import re
from typing import NamedTuple

LENGTH = 2_400
"""The most characters of a passage. Up to here a text is one passage."""
OVERLAP = 240

_PARAGRAPH = re.compile(r"\n\s*\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?…][\"')\]»”]*\s+|[\u3002\uff01\uff1f]")
_WORD = re.compile(r"\s+")


class Stretch(NamedTuple):
    """A part of a text: from `start` up to, but without, `stop`."""

    start: int
    stop: int


def split(text: str, length: int = LENGTH, overlap: int = OVERLAP) -> list[Stretch]:
    """Return the passages of a text, in order; together they hold all of it. An empty text is one empty passage."""
    stretches = []
    start = 0
    while len(text) - start > length:
        stop = _pauses(text, start + length // 2, start + length, _PARAGRAPH, _LINE, _SENTENCE, _WORD)[-1]
        stretches.append(Stretch(start, stop))
        start = _pauses(text, stop - overlap, stop - 1, _SENTENCE, _WORD)[0]
    return [*stretches, Stretch(start, len(text))]


def _pauses(text: str, low: int, high: int, *kinds: re.Pattern[str]) -> list[int]:
    """Return the places behind the pauses of the first kind that there is between two positions, or the upper one."""
    for kind in kinds:
        if places := [match.end() for match in kind.finditer(text, low, high)]:
            return places
    return [high]
