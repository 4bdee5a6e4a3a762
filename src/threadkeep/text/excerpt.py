"""Parts of texts: the head, both ends, the surroundings of a word, or overlapping passages of a long text.

A shortened text says that something was left out. Passages end where a reader would pause, and neighbours overlap, so
that what stands across a cut is found whole in one of them.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

OLD = 200
"""How many characters are left of an old answer or an old tool result (R-D5)."""
PASSAGE = 2_400
"""The most characters of a passage. Up to here a text is one passage."""
OVERLAP = 240

_PARAGRAPH = re.compile(r"\n\s*\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?…][\"')\]»”]*\s+|[\u3002\uff01\uff1f]")
_WORD = re.compile(r"\s+")


def head(text: str, size: int) -> str:
    """Return the beginning of a text, at most `size` characters with the dots that tell of the rest."""
    if len(text) <= size:
        return text
    return text[: max(0, size - 3)].rstrip() + "..."


def ends(text: str, size: int) -> str:
    """Return both ends of a text, two thirds of it from the head, and between them how much is missing.

    It is at most `size` characters, unless not even the words about the gap fit; a shortened text stays as it is.
    """
    if len(text) <= size:
        return text
    kept = max(0, size - len(_gap(len(text))))
    front, back = kept - kept // 3, kept // 3
    shortened = text[:front] + _gap(len(text) - kept) + text[len(text) - back :]
    return shortened if len(shortened) < len(text) else text


def _gap(characters: int) -> str:
    return f"\n[... {characters:,} characters left out ...]\n"


def around(text: str, words: Iterable[str], size: int) -> str:
    """Return at most about `size` characters of a text, from shortly before the first of the words that it holds."""
    if len(text) <= size:
        return text
    folded = text.lower()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    start = min(max(0, min(places, default=0) - size // 4), len(text) - size)
    front, back = "..." if start else "", "..." if start + size < len(text) else ""
    return front + text[start : start + size].strip() + back


class Stretch(NamedTuple):
    """A part of a text: from `start` up to, but without, `stop`."""

    start: int
    stop: int


def split(text: str, length: int = PASSAGE, overlap: int = OVERLAP) -> list[Stretch]:
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
