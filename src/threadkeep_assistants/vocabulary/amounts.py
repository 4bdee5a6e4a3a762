"""Amounts in what people write: numbers, counts, and the limits that numbers set. A small grammar over words.

    number  = digits | number words | [a] half|couple|few [of] [a] scale, with "and a half", a scale, a unit behind it
    limit   = [not] comparison number | number comparison | number "to" number | "between" number "and" number
            | the ["low"|"mid"|"high"] number "s" | "about" number

What tells of an amount and fits none of it is `unread`: a reader says so, instead of acting as if it had not been said.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from threadkeep_assistants.vocabulary.scanning import Words, word_set

Operator = Literal["<", "<=", ">", ">="]

_MONEY = word_set("dollar dollars usd buck bucks euro euros eur pound pounds gbp quid")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: value for value, word in enumerate(_ONES.split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), 2)
}
_SCALES = {"k": 1_000, "hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 1_000_000}
_PARTS = {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "couple": 2.0, "few": 3.0}
"""What may stand before a scale: "half a grand", "a couple of hundred"."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: 500, "1,500", "five hundred". `at` and `end` are places of words, `unit` is what follows.

    `reach` tells how far above it a number goes that stands for many: 99 in "the 200s".
    """

    value: float
    at: int
    end: int
    unit: str = ""
    is_money: bool = False
    is_rough: bool = False
    reach: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that something must stay below or above."""

    operator: Operator
    number: Number


def numbers_in(words: Words) -> tuple[Number, ...]:
    """Return all numbers, in digits or in words; "one" alone is none, because it mostly stands for a thing."""
    found, at = list[Number](), 0
    while at < len(words):
        number = _number(words, at)
        found += [number] if number else []
        at = number.end if number else at + 1
    return tuple(found)


def _number(words: Words, at: int) -> Number | None:
    value, end = _part_of_scale(words, at) if words.at(at) in _PARTS else _counted(words, at)
    if end == at:
        return None
    if words.said(end, end + 3) == "and a half":
        value, end = value + 0.5, end + 3
    is_money = words[at].is_money or words.at(at - 1) in ("usd", "eur", "gbp") or words.at(end - 1) == "grand"
    # A screen has 4k; a limit, an end of a range or a broken number of k are thousands.
    is_second = words.at(at - 1) == "to" and at > 1 and words[at - 2].number is not None
    is_limit = is_second or words.at(at - 1) in _LIMITING or words.at(at - 1) == "between"
    is_scaled = is_money or is_limit or not value.is_integer() or words.at(end + 1) in _MONEY
    if words.at(end) in _SCALES and (is_scaled or words.at(end) != "k"):
        value, end = value * _SCALES[words.at(end)], end + 1
        is_money = is_money or words.at(end - 1) == "grand"
    reach = 0.0
    if words.at(end) == "s" and words[at].number is not None:
        reach, end = _place_value(value) - 1, end + 1
    is_rough = words.at(at) in ("couple", "few") or words.at(end) == "ish" or words.said(end, end + 2) == "or so"
    return Number(value, at, end, words.at(end), is_money or words.at(end) in _MONEY, is_rough, reach)


def _place_value(value: float) -> float:
    """Return the value of the last place that is not zero: 100 of 1,200."""
    place = 1.0
    while value and value % (place * 10) == 0:
        place *= 10
    return place


def _part_of_scale(words: Words, at: int) -> tuple[float, int]:
    """Return "half a grand" or "a couple of hundred" and where it ends; without a scale it is no number."""
    end = at + 1
    while words.at(end) in ("of", "a") and end < at + 3:
        end += 1
    scale = words.at(end)
    return (_PARTS[words.at(at)] * _SCALES[scale], end + 1) if scale in _SCALES and scale != "k" else (0.0, at)


def _counted(words: Words, at: int) -> tuple[float, int]:
    """Return the number that begins at a place and where it ends, which is the place itself if there is none."""
    number = words[at].number
    if number is not None:
        return number, at + 1
    value = group = 0
    end = at
    while end < len(words):
        word, tail = words.at(end), group % 100
        if word in _SMALL and 0 < group < 10 and not value and _SMALL[word] >= 20:
            group = group * 100 + _SMALL[word]  # "two fifty"
        elif word in _SMALL and (not tail or (tail >= 20 and tail % 10 == 0 and _SMALL[word] < 10)):
            group += _SMALL[word]
        elif word == "hundred" and group < 100:
            group = max(group, 1) * 100
        elif word in ("thousand", "grand") and value == 0:
            value, group = max(group, 1) * 1_000, 0
        elif not (word == "and" and end > at and not tail and _is_below_hundred(words, end + 1)):
            break
        end += 1
    is_one = end == at + 1 and words.at(at) == "one" and not _begins_more(words, end)
    return (0.0, at) if is_one else (float(value + group), end)


def _is_below_hundred(words: Words, at: int) -> bool:
    """Whether a number below a hundred stands there: "and fifty", but not "and two hundred", which is another one."""
    end = at + 1 + (_SMALL.get(words.at(at), 0) >= 20 and 0 < _SMALL.get(words.at(at + 1), 0) < 10)
    return words.at(at) in _SMALL and words.at(end) not in _SCALES


def _begins_more(words: Words, end: int) -> bool:
    """Whether a "one" before a place is a number: "one and a half", "one to two thousand", "between one and two"."""
    is_range = words.at(end) == "to" or (words.at(end) == "and" and words.at(end - 2) == "between")
    is_number = words.at(end + 1) in _SMALL or (end + 1 < len(words) and words[end + 1].number is not None)
    return words.said(end, end + 3) == "and a half" or (is_range and is_number)


def limits_in(words: Words, numbers: Sequence[Number]) -> Iterator[Limit]:
    """Yield what numbers must stay within: "under 500", "500 max", "<= $500", "between 300 and 500", "the 200s"."""
    for place, number in enumerate(numbers):
        behind = numbers[place + 1] if place + 1 < len(numbers) else None
        before = numbers[place - 1] if place else None
        if behind and _is_range(words, number, behind):
            yield Limit(">=", replace(number, value=number.value * _shared_scale(words, number, behind)))
        elif before and _is_range(words, before, number):
            yield Limit("<=", number)
        elif operator := _operator(words, number):
            yield Limit(operator, number)
        elif number.reach:
            low, high = _THIRDS.get(words.at(number.at - 1), (0.0, 1.0))
            yield Limit(">=", replace(number, value=number.value + round(low * (number.reach + 1))))
            yield Limit("<=", replace(number, value=number.value + round(high * (number.reach + 1)) - (high == 1)))
        elif number.is_rough or _is_rough(words, number):
            yield Limit(">=", replace(number, value=round(number.value * (1 - _ROUGHLY))))
            yield Limit("<=", replace(number, value=round(number.value * (1 + _ROUGHLY))))


def _is_range(words: Words, low: Number, high: Number) -> bool:
    start = low.end + (low.unit in _MONEY)
    between, is_next = words.at(start), high.at - (words.at(high.at - 1) == "a") == start + 1
    return is_next and (between == "to" or (between == "and" and words.at(low.at - 1) in ("between", "a")))


def _shared_scale(words: Words, low: Number, high: Number) -> int:
    """Return what the first of two numbers leaves for the second to say: "between five and seven hundred"."""
    return _SCALES.get(words.at(high.end - 1), 1) if low.value < high.value / _SCALES["hundred"] * 10 else 1


def _is_rough(words: Words, number: Number) -> bool:
    """Whether a number is meant roughly: "around 400", "~ 250"; but not what is told about: "about 3 phones"."""
    at = number.at - 1
    while words.at(at) in ("a", "the", "price", "of", "usd"):
        at -= 1
    return words.at(at) in _NEARLY and words.at(at - 1) not in ("me", "more", "all", "know")


def _operator(words: Words, number: Number) -> Operator | None:
    """Return the comparison before a number, or behind it; words that say nothing may stand in between."""
    said, at = list[int](), number.at - 1
    while at >= 0 and len(said) < _LONGEST and at > number.at - 2 * _LONGEST:
        said += [at] if words.at(at) not in _FILLERS else []
        at -= 1
    for length in range(len(said), 0, -1):
        if found := _BEFORE.get(" ".join(words.at(place) for place in reversed(said[:length]))):
            return _OPPOSITE[found] if _is_denied(words, said[length - 1]) else found
    start = number.end + (number.unit in _MONEY)
    behind = (words.said(start, start + length) for length in (2, 1))
    return next((_BEHIND[each] for each in behind if each in _BEHIND), None)


def _is_denied(words: Words, at: int) -> bool:
    """Whether what stands at a place must not be: "I can't go over", "nothing should cost more than"."""
    while words.at(at - 1) in _GOING:
        at -= 1
    return words.at(at - 1) in _DENYING or (words.at(at - 2) == "no" and words.at(at - 1).endswith("s"))


def count_in(words: Words, numbers: Sequence[Number]) -> int | None:
    """Return how many are wanted: "top 5", "show me three", "the two cheapest"; None if it does not say."""
    for number in numbers:
        at = number.at - 1
        while words.at(at) in ("me", "the", "only", "just", "another"):
            at -= 1
        is_counted = words.at(at) in _COUNTED_BEHIND or is_superlative(number.unit)
        if is_counted and number.value == int(number.value) and not number.is_money:
            return int(number.value)
    return None


def is_superlative(word: str) -> bool:
    """Whether a word says that something has the most or the least of all."""
    return word in ("most", "least", "top") or (len(word) > 3 and word.endswith("est"))


def unread_in(words: Words, numbers: Sequence[Number]) -> str:
    """Return a word that tells of an amount and is no part of a number: "hundreds", "twice that", "30% less"; "" if
    none does."""
    read = {place for number in numbers for place in range(number.at, number.end)}
    for at, word in enumerate(words):
        is_part = word.text in ("half", "double", "triple") and words.at(at + 1) in _OF_WHAT
        is_part = is_part or (word.text in ("%", "percent") and words.at(at + 1) in _RELATIVE)
        if at not in read and (word.text in _AMOUNTS or is_part):
            return word.text
    return ""


def _by_phrase(table: Mapping[Operator, str]) -> dict[str, Operator]:
    return {phrase: operator for operator, phrases in table.items() for phrase in phrases.split("|")}


_BEFORE = _by_phrase(
    {
        "<": "under|below|beneath|<|less than|lower than|cheaper than|smaller than|lighter than|shorter than|fewer than"
        "|worse than|not as much as|unter|weniger als|menos de|moins de",
        "<=": "up to|at most|at maximum|max|maximum|within|no more than|not more than|not over|not above|<=|budget"
        "|until|spend|afford|pay|i have|i have got|make it|make that|not exceed|not exceeding|bis|hasta|limit"
        "|at or below|at or under|no higher than|capped at",
        ">": "over|above|beyond|>|more than|higher than|greater than|bigger than|larger than|heavier than|longer than"
        "|better than|exceeding|exceed|exceeds|über|más de|plus de",
        ">=": "at least|from|starting at|no less than|not less than|not under|not below|min|minimum|upwards|>=|ab"
        "|at or above|at or over|no lower than",
    }
)
_BEHIND = _by_phrase(
    {
        "<=": "max|maximum|tops|budget|limit|at most|or less|or under|or below|or cheaper|or lower|and under|and below"
        "|or fewer|and less",
        ">=": "+|min|minimum|plus|at least|or more|or above|or over|or higher|or better|and up|and above|and over"
        "|and more|and better",
    }
)
_LONGEST = 4
"""How many words a comparison has at most."""
_NEARLY = word_set("around about roughly approximately approx circa ca nearly almost ~")
_ROUGHLY = 0.2
"""How far a number that is meant roughly may be missed."""
_THIRDS = {"low": (0.0, 0.4), "lower": (0.0, 0.4), "mid": (0.3, 0.7), "high": (0.6, 1.0), "upper": (0.6, 1.0)}
"""Which part of "the 200s" is meant."""
_LIMITING = frozenset(phrase.split()[-1] for phrase in _BEFORE)
_OPPOSITE: dict[Operator, Operator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_GOING = word_set(
    "go going be cost costs costing spend spending pay paying to get want should may must can will is are anything"
    " set me back run"
)
_DENYING = word_set("not never nothing without none")
_FILLERS = word_set("a an of is the only just about my usd us eur total price be around roughly maybe like very")
_COUNTED_BEHIND = word_set("top best first last bottom worst next show list give name biggest largest smallest")
_AMOUNTS = word_set("hundreds thousands figure figures digit digits twice thrice grands")
_OF_WHAT = word_set("a the that of as what")
_RELATIVE = word_set("cheaper dearer less more lower higher better off discount")
