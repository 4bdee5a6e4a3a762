"""The scanner of all scripted assistants: a text becomes words, once, and at most `MOST_CHARACTERS` of it.

Everything else looks at words, never at the raw text, so no input can make it slow.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 2_000
_TOKEN = re.compile(
    r"(?P<sign>[$€£#])|(?P<compared><=|>=|=<|=>|[<>≤≥])|(?P<flat>(?<=\d)[.,][-–—]+)"  # noqa: RUF001
    r"|(?P<to>(?<=\d)\s?[-–]\s?(?=[$€£\d]))|(?P<mark>[%+~])|(?P<decade>(?<=\d)['’]?s\b)"  # noqa: RUF001
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<number>(?<![\w.,])\d{1,2}(?: \d{3})+(?!\d)|\d{1,3}(?:['’\u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)*)"  # noqa: RUF001
    r"|(?P<word>[^\W\d_]+\d*(?:[&'’][^\W\d_]+)*)",  # noqa: RUF001
    re.IGNORECASE,
)
_CURRENCIES = frozenset("$€£")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
_MOST_DIGITS = 15
_SIGNS = {"=<": "<=", "=>": ">=", "≤": "<=", "≥": ">="}


def word_set(words: str) -> frozenset[str]:
    """Return the words of a constant."""
    return frozenset(words.split())


_IS = word_set("what it that who where how there here which when he she")
"""Words behind which "'s" is short for "is" and no owner."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: in small letters without "'s", as it was written, the sign before it ("$", "#"), and its number."""

    text: str
    written: str
    sign: str = ""
    number: float | None = None

    @property
    def is_money(self) -> bool:
        """Whether a currency stands before it."""
        return self.sign in _CURRENCIES


class Words(tuple[Word, ...]):
    """The words of a text, in order."""

    def at(self, place: int) -> str:
        """Return the word at a place, "" outside of the text."""
        return self[place].text if 0 <= place < len(self) else ""

    def said(self, start: int, end: int) -> str:
        """Return the words from one place to another as one text."""
        return " ".join(self.at(place) for place in range(max(start, 0), min(end, len(self))))


def scanned(text: str) -> Words:
    """Return the words of a text, or of its beginning if it is very long."""
    return Words(_scanned(text[:MOST_CHARACTERS]))


def _scanned(text: str) -> Iterator[Word]:
    sign, end, last = "", -1, None
    for match in _TOKEN.finditer(text):
        kind, written = match.lastgroup, match[0]
        is_behind = (
            last == "number" and match.start() - end <= 1 and not text[match.end() : match.end() + 1].isdecimal()
        )
        if kind == "flat" or (written in _CURRENCIES and is_behind):
            yield Word("dollars", written)
        elif kind == "number":
            yield Word(written.replace(",", ""), written, sign, _value(written))
        elif kind == "word":
            base, *rest = _plain(written)
            yield Word(base, written, sign)
            yield from (Word(each, "") for each in rest)
        elif kind != "sign":
            said = "to" if kind == "to" else "s" if kind == "decade" else written.lower()
            yield Word(_SIGNS.get(said, said), written)
        sign, end, last = (written if kind == "sign" and not is_behind else ""), match.end(), kind


def _value(written: str) -> float | None:
    """Return the number that digits stand for: 1,200 and 1.200 and 1 200 are thousands, 4.5 and 4,5 are not.

    Endless digits are no number.
    """
    digits = re.sub(r"[^\d.,]", "", written)
    whole, comma, tail = digits.rpartition(",")
    is_broken = bool(comma) and len(tail) < 3 and "," not in whole
    if is_broken or ("." in whole and "," not in whole):
        digits = f"{whole.replace('.', '')}.{tail}"
    elif _THOUSANDS.fullmatch(digits):
        digits = digits.replace(".", "")
    digits = digits.replace(",", "")
    return float(digits) if len(digits) <= _MOST_DIGITS and digits.count(".") <= 1 else None


def _plain(written: str) -> list[str]:
    """Return a word in small letters; "apple's" is "apple", "what's" is "what is", "isn't" is "is not"."""
    word = written.lower().replace("’", "'")  # noqa: RUF001
    base, _, end = word.rpartition("'")
    match end:
        case "s" if base:
            return [base, "is"] if base in _IS else [base]
        case "t" if base.endswith("n"):
            return [{"can": "can", "won": "will"}.get(base, base[:-1]), "not"]
        case "re" | "m" | "d" | "ll" | "ve" if base:
            return [base]
        case _:
            return [word]
