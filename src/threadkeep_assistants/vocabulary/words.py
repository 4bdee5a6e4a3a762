"""Words of a text, and what scripted assistants read alike in them: numbers, money, limits, exclusions.

A text is split into words once, by a scanner that passes over at most `MOST_CHARACTERS` of it; everything else looks at
words, never at the raw text, so no input can make it slow. Names of things (products, companies, accounts) are the
assistants' own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

Operator = Literal["<", "<=", ">", ">="]

MOST_CHARACTERS = 2_000
_TOKEN = re.compile(
    r"(?P<sign>[$€£#])|(?P<compared><=|>=|=<|=>|[<>≤≥])|(?P<to>(?<=\d)\s?[-–]\s?(?=[$€£\d]))|(?P<mark>[%+~])"  # noqa: RUF001
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th)\b)|(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<word>[^\W\d_]+\d*(?:[&'’][^\W\d_]+)*)",  # noqa: RUF001
    re.IGNORECASE,
)


def word_set(words: str) -> frozenset[str]:
    """Return the words of a constant."""
    return frozenset(words.split())


_CURRENCIES = frozenset("$€£")
_MONEY = word_set("dollar dollars usd buck bucks euro euros eur pound pounds gbp")
_IS = word_set("what it that who where how there here which when he she")
"""Words behind which "'s" is short for "is" and no owner."""
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: value for value, word in enumerate(_ONES.split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), 2)
}
_SCALES = {"k": 1_000, "hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 1_000_000}


@dataclass(frozen=True, slots=True)
class Word:
    """A word: in small letters without "'s", as it was written, the sign before it ("$", "#"), and its number."""

    text: str
    written: str
    sign: str = ""
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: 500, "1,500", "five hundred". `at` and `end` are places of words, `unit` is what follows."""

    value: float
    at: int
    end: int
    unit: str = ""
    is_money: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that something must stay below or above."""

    operator: Operator
    number: Number


class Text:
    """The words of a text."""

    def __init__(self, text: str) -> None:
        self.words: tuple[Word, ...] = tuple(_scanned(text[:MOST_CHARACTERS]))

    @cached_property
    def line(self) -> str:
        """All words with a space around each."""
        return f" {' '.join(word.text for word in self.words)} "

    def has(self, phrases: str) -> bool:
        """Whether it has one of several phrases, as in "more than|at least|suppl*"; a star stands for any end."""
        return any(phrase in self.line for phrase in _phrases(phrases))

    def places(self, phrases: str) -> list[int]:
        """Return the places of the first words of all these phrases, in order."""
        found, line = set[int](), self.line
        for phrase in _phrases(phrases):
            at = line.find(phrase)
            while at >= 0:
                found.add(line.count(" ", 0, at))
                at = line.find(phrase, at + 1)
        return sorted(found)

    def begins(self, phrases: str) -> bool:
        """Whether it begins with one of these phrases."""
        return any(self.line.startswith(phrase) for phrase in _phrases(phrases))

    def at(self, place: int) -> str:
        """Return the word at a place, "" outside of the text."""
        return self.words[place].text if 0 <= place < len(self.words) else ""

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """All numbers, in digits or in words; "one" alone is none, because it mostly stands for a thing."""
        found, at = list[Number](), 0
        while at < len(self.words):
            number = self._number(at)
            found += [number] if number else []
            at = number.end if number else at + 1
        return tuple(found)

    def _number(self, at: int) -> Number | None:
        value, end = _counted(self.words, at)
        if end == at:
            return None
        is_money = self.words[at].sign in _CURRENCIES or self.at(at - 1) in ("usd", "eur", "gbp")
        # A screen has 4k, a limit or a broken number of k are thousands.
        is_scaled = is_money or self.at(at - 1) in _LIMITING or not value.is_integer() or self.at(end + 1) in _MONEY
        if self.at(end) in _SCALES and (is_scaled or self.at(end) != "k"):
            value, end = value * _SCALES[self.at(end)], end + 1
        return Number(value, at, end, self.at(end), is_money or self.at(end) in _MONEY)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """What numbers must stay within: "under 500", "500 max", "<= $500", "between 300 and 500"."""
        found, numbers = list[Limit](), self.numbers
        for place, number in enumerate(numbers):
            behind = numbers[place + 1] if place + 1 < len(numbers) else None
            before = numbers[place - 1] if place else None
            if behind and self._is_range(number, behind):
                found.append(Limit(">=", replace(number, value=number.value * self._shared_scale(number, behind))))
            elif before and self._is_range(before, number):
                found.append(Limit("<=", number))
            elif operator := self._operator(number):
                found.append(Limit(operator, number))
            elif self._is_rough(number):
                found += [Limit(">=", replace(number, value=round(number.value * (1 - _ROUGHLY))))]
                found += [Limit("<=", replace(number, value=round(number.value * (1 + _ROUGHLY))))]
        return tuple(found)

    def _is_range(self, low: Number, high: Number) -> bool:
        start = low.end + (low.unit in _MONEY)
        between, is_next = self.at(start), high.at - (self.at(high.at - 1) == "a") == start + 1
        return is_next and (between == "to" or (between == "and" and self.at(low.at - 1) == "between"))

    def _shared_scale(self, low: Number, high: Number) -> int:
        """Return what the first of two numbers leaves for the second to say: "between five and seven hundred"."""
        return _SCALES.get(self.at(high.end - 1), 1) if low.value < high.value / _SCALES["hundred"] * 10 else 1

    def _is_rough(self, number: Number) -> bool:
        """Whether a number is meant roughly: "around 400", "~ 250"; but not what is told about: "about 3 phones"."""
        at = number.at - 1
        while self.at(at) in ("a", "the", "price", "of", "usd"):
            at -= 1
        return self.at(at) in _NEARLY and self.at(at - 1) not in ("me", "more", "all", "know")

    def _operator(self, number: Number) -> Operator | None:
        end = number.at
        while end > 0 and self.at(end - 1) in _FILLERS:
            end -= 1
        for start in (end - 3, end - 2, end - 1):
            if start >= 0 and (found := _BEFORE.get(" ".join(word.text for word in self.words[start:end]))):
                return _OPPOSITE[found] if self._is_denied(start) else found
        start = number.end + (number.unit in _MONEY)
        behind = (" ".join(word.text for word in self.words[start : start + length]) for length in (2, 1))
        return next((_BEHIND[words] for words in behind if words in _BEHIND), None)

    def _is_denied(self, at: int) -> bool:
        """Whether what stands at a place must not be: "I can't go over", "nothing should cost more than"."""
        while self.at(at - 1) in _GOING:
            at -= 1
        return self.at(at - 1) in ("not", "never", "nothing")

    @cached_property
    def count(self) -> int | None:
        """How many are wanted: "top 5", "show me three"; None if it does not say."""
        for number in self.numbers:
            at = number.at - 1
            while self.at(at) in ("me", "the", "only", "just", "another"):
                at -= 1
            if self.at(at) in _COUNTED_BEHIND and number.value == int(number.value) and not number.is_money:
                return int(number.value)
        return None

    def excluded(self, names: Sequence[tuple[int, int]]) -> list[bool]:
        """Say of names, given by the places of their words in order, which ones are not wanted: "no Sony or Bose"."""
        found = list[bool]()
        for place, (start, _) in enumerate(names):
            at = start - 1
            while at >= 0 and self.at(at) in _BETWEEN:
                at -= 1
            is_refused = self.at(at) in _REFUSING or f"{self.at(at - 1)} {self.at(at)}" in _REFUSING_PAIRS
            found.append(is_refused or (place > 0 and found[-1] and at < names[place - 1][1]))
        return found


def _scanned(text: str) -> Iterator[Word]:
    sign, end, last = "", -1, None
    for match in _TOKEN.finditer(text):
        kind, written = match.lastgroup, match[0]
        if kind == "sign":
            if written in _CURRENCIES and last == "number" and end == match.start():
                yield Word("dollars", written)
            else:
                sign = written
        elif kind == "number":
            yield Word(written.replace(",", ""), written, sign, _value(written))
        elif kind == "word":
            base, *rest = _plain(written)
            yield Word(base, written, sign)
            yield from (Word(each, "") for each in rest)
        else:
            text = "to" if kind == "to" else written.lower()
            yield Word({"=<": "<=", "=>": ">=", "≤": "<=", "≥": ">="}.get(text, text), written)
        sign, end, last = (sign if kind == "sign" else ""), match.end(), kind


def _value(written: str) -> float | None:
    """Return the number that digits stand for; a comma stands between thousands. Endless digits are no number."""
    whole = written.replace(",", "")
    return float(whole) if len(whole) <= 15 and whole.count(".") <= 1 else None


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


def _counted(words: Sequence[Word], at: int) -> tuple[float, int]:
    """Return the number that begins at a place and where it ends, which is the place itself if there is none."""
    number = words[at].number
    if number is not None:
        return number, at + 1
    value = group = 0
    end = at
    while end < len(words):
        word, tail = words[end].text, group % 100
        behind = words[end + 1].text if end + 1 < len(words) else ""
        if word in _SMALL and 0 < group < 10 and not value and _SMALL[word] >= 20:
            group = group * 100 + _SMALL[word]  # "two fifty"
        elif word in _SMALL and (not tail or (tail >= 20 and tail % 10 == 0 and _SMALL[word] < 10)):
            group += _SMALL[word]
        elif word == "hundred" and group < 100:
            group = max(group, 1) * 100
        elif word in ("thousand", "grand") and value == 0:
            value, group = max(group, 1) * 1_000, 0
        elif not (word == "and" and end > at and not tail and behind in _SMALL):
            break
        end += 1
    is_one = end == at + 1 and words[at].text == "one"
    return (0.0, at) if is_one else (float(value + group), end)


def _by_phrase(table: Mapping[Operator, str]) -> dict[str, Operator]:
    return {phrase: operator for operator, phrases in table.items() for phrase in phrases.split("|")}


_BEFORE = _by_phrase(
    {
        "<": "under|below|beneath|<|less than|lower than|cheaper than|smaller than|lighter than|shorter than|fewer than"
        "|not as much as|unter|weniger als|menos de|moins de",
        "<=": "up to|at most|at maximum|max|maximum|within|no more than|not more than|not over|not above|<=|budget"
        "|until|spend|afford|pay|i have|i have got|make it|make that|not exceed|not exceeding|bis|hasta|limit",
        ">": "over|above|beyond|>|more than|higher than|greater than|bigger than|larger than|heavier than|longer than"
        "|better than|exceeding|über|más de|plus de",
        ">=": "at least|from|starting at|no less than|not less than|not under|not below|min|minimum|upwards of|>=|ab",
    }
)
_BEHIND = _by_phrase(
    {
        "<=": "max|maximum|tops|budget|limit|at most|or less|or under|or below|or cheaper|or lower|and under|and below",
        ">=": "+|min|minimum|plus|at least|or more|or above|or over|or higher|or better|and up|and above|and over",
    }
)
_NEARLY = word_set("around about roughly approximately approx circa ca nearly ~")
_ROUGHLY = 0.2
"""How far a number that is meant roughly may be missed."""
_LIMITING = frozenset(phrase.split()[-1] for phrase in _BEFORE)
_OPPOSITE: dict[Operator, Operator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_GOING = word_set("go be cost costs spend pay to get want should may must can will is are anything")
_FILLERS = word_set("a an of is the only just about my usd us eur total price be around roughly maybe like")
_COUNTED_BEHIND = word_set("top best first last bottom worst next show list give name biggest largest smallest")
_REFUSING = word_set(
    "no not without except excluding exclude besides nor minus remove drop skip ignore non ohne sin sans"
)
_REFUSING_PAIRS = frozenset(("other than", "anything but", "leave out", "rather than", "everything but", "all but"))
_BETWEEN = word_set("the a an any from by of in with for or and nor all more")


@lru_cache(maxsize=512)
def _phrases(phrases: str) -> tuple[str, ...]:
    return tuple(f" {phrase[:-1]}" if phrase.endswith("*") else f" {phrase} " for phrase in phrases.split("|"))
