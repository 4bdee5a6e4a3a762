"""Parts of texts: the head, both ends, or the surroundings of a word. Each tells how much was left out."""

from collections.abc import Iterable

OLD = 200
"""How many characters are left of an old answer or an old tool result (R-D5)."""


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
