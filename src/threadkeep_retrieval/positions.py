"""Positions: what "the second one", "the cheaper one", "the first list" or "the Samsung one" stand for.

The newest list that fits is meant, unless the question names a list. Pure: questions and lists go in, items come out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from threadkeep.text.stems import stem
from threadkeep.text.stop_words import STOP_WORDS
from threadkeep.text.words import words_in_order
from threadkeep_retrieval.shown_lists import Item, ShownList

_ORDINALS = {
    word: place
    for place, names in enumerate(
        (
            "first 1st erste ersten erster erstes premier première primero primera primer top",
            "second 2nd zweite zweiten zweiter zweites deuxième second seconde segundo segunda",
            "third 3rd dritte dritten dritter drittes troisième tercero tercera tercer",
            "fourth 4th vierte vierten quatrième cuarto cuarta",
            "fifth 5th fünfte fünften cinquième quinto quinta",
            "sixth 6th", "seventh 7th", "eighth 8th", "ninth 9th", "tenth 10th",
        )
    )
    for word in names.split()
}  # fmt: skip
_LAST = {
    "last": -1,
    "bottom": -1,
    "letzte": -1,
    "letzten": -1,
    "dernier": -1,
    "dernière": -1,
    "último": -1,
    "última": -1,
}
_PLACES = {**_ORDINALS, **_LAST, "former": 0, "latter": -1, "runner-up": 1, "runner up": 1, "winner": 0}
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "zwei": 2, "drei": 3, "deux": 2, "trois": 3, "dos": 2, "tres": 3}
MOST_WORDS = 8
MOST_ITEMS = 6
MOST_CHARACTERS = 1_000
"""How much of a question is looked at."""
_WORDS = "|".join(sorted(_PLACES, key=len, reverse=True))
_THING = "one|ones|item|option|entry|result|row|product|choice|stock|company|phone|model|pick"
_ARTICLE = r"(?:the|your|that|its|their|der|die|das|den|dem|le|la|el|lo)"
_TAIL = rf"(?:\s+(?:{_THING})\b|(?=\s*(?:$|[?!.,;:)]|(?:in|on|of|from|and|or|than|with|is|vs|better|worse|cheaper)\b)))"
_LIST = re.compile(
    rf"(?:\b(?:in|on|from|of)\s+)?(?:\b{_ARTICLE}\s+)?\b(?P<place>{_WORDS})\s+(?:list|table|ranking|liste|tabelle|lista|tabla)\b",
    re.IGNORECASE,
)
_SOME = re.compile(
    rf"\b(?:{_ARTICLE}\s+)?(?P<end>first|top|last)\s+(?P<count>{'|'.join(_COUNTS)}|[2-9])\b", re.IGNORECASE
)
_PLACE = re.compile(
    rf"\b{_ARTICLE}\s+(?P<place>{_WORDS}){_TAIL}|\b(?P<ordinal>{'|'.join(_ORDINALS)}|last)\s+one\b"
    r"|\bthe\s+(?P<pair>former|latter)\b"
    rf"|\b(?:number|no\.?|nr\.?|nummer|option|item)\s*(?P<number>\d{{1,2}})\b|(?<!\S)#(?P<hash>\d{{1,2}})\b"
    rf"|^\W*(?P<alone>\d{{1,2}})\W*$|^\W*(?P<bare>{_WORDS})(?:\s+(?:{_THING}))?\W*$",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\b(?:(?:all|everything|anything|any)\s+but|(?:all |everything |anything )?"
    rf"(?:except|excluding|besides|other than))(?:\s+for)?\s+(?={_ARTICLE}\s|number|#)",
    re.IGNORECASE,
)
"""What stands before a place that is not meant."""
_BUT = re.compile(r"\s+(?:one\s+)?but\s+(?P<steps>one|two)\b", re.IGNORECASE)
_BOTH = re.compile(r"\b(?:both(?: of them)?|the two|either of them|beide|les deux|ambos)\b", re.IGNORECASE)
_MEASURES = (
    (
        "price",
        min,
        re.compile(
            r"\b(?:cheap(?:er|est)|least expensive|lowest price|günstigste|billigste|moins cher)\b", re.IGNORECASE
        ),
    ),
    (
        "price",
        max,
        re.compile(
            r"\b(?:dear(?:er|est)|(?:more|most) expensive|pric(?:ier|iest)|highest price|teuerste)\b", re.IGNORECASE
        ),
    ),
    ("score", min, re.compile(r"\b(?:worst|weakest|lowest[- ](?:rated|ranked|score))\b", re.IGNORECASE)),
    (
        "score",
        max,
        re.compile(
            r"\b(?:(?:best|strongest) (?:one|of them|rated)|highest[- ](?:rated|ranked|score))\b", re.IGNORECASE
        ),
    ),
)


class Referred(NamedTuple):
    """Items that a question means, the others of the list, and the question with the items put in."""

    items: tuple[Item, ...]
    others: tuple[Item, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Reader:
    question: str
    answers: Sequence[Sequence[ShownList]]

    def read(self) -> Referred | None:
        named = _LIST.search(self.question)
        text = self.question if named is None else self.question[: named.start()] + self.question[named.end() :]
        lists = self._lists(named)
        for shown in lists:
            for find in (self._places, self._measured, self._named):
                if items := find(text, shown):
                    others = tuple(item for item in shown if item not in items)
                    if refused := _LEFT_OUT.search(text):
                        place = _SOME.match(text, refused.end()) or _PLACE.match(text, refused.end()) or refused
                        items, others, text = others, items, text[: refused.start()] + text[place.end() :].lstrip(" ,")
                    return Referred(items[:MOST_ITEMS], others, _put(text, items[:MOST_ITEMS]))
        if named is None or not lists:
            return None
        items = lists[0][:MOST_ITEMS]
        return Referred(items, (), _put(self.question, items))

    def _lists(self, named: re.Match[str] | None) -> list[ShownList]:
        """Return the lists that may be meant, the likeliest first: those of the newest answer, in its own order."""
        if named is None:
            return [shown for lists in reversed(self.answers) for shown in lists]
        place, every = _PLACES[named["place"].lower()], [shown for lists in self.answers for shown in lists]
        return [every[place]] if -len(every) <= place < len(every) else []

    def _places(self, text: str, shown: ShownList) -> ShownList:
        some = _SOME.search(text)
        if some:
            count = _COUNTS.get(some["count"].lower()) or int(some["count"])
            return shown[-count:] if some["end"].lower() == "last" else shown[:count]
        places = [_position_of(match) for match in _PLACE.finditer(text)]
        if not places and _BOTH.search(text):
            places = [0, 1] if len(shown) > 1 else []
        return tuple(shown[place] for place in dict.fromkeys(places) if -len(shown) <= place < len(shown))

    def _measured(self, text: str, shown: ShownList) -> ShownList:
        for measure, choose, pattern in _MEASURES:
            known = [item for item in shown if measure in item.numbers]
            if known and (found := pattern.search(text)):
                ordered = sorted(known, key=lambda item: item.numbers[measure], reverse=choose is max)
                place = _place_of(text, found)
                return tuple(ordered[place : place + 1])
        return ()

    def _named(self, text: str, shown: ShownList) -> ShownList:
        """Return the items, a few at most, that share a word with the question that not all of the list have."""
        asked = _stems(text)
        held = [(item, asked & _stems(" ".join(item.names))) for item in shown if _is_name(item.names[0])]
        common = (
            frozenset.intersection(*(_stems(" ".join(item.names)) for item in shown)) if len(shown) > 1 else frozenset()
        )
        found = tuple(item for item, words in held if words - common)
        return found if len(found) <= 2 else ()


def referred(question: str, answers: Sequence[Sequence[ShownList]]) -> Referred | None:
    """Return what a question refers to in the lists of the answers, oldest first; None if it names no place."""
    return _Reader(question[:MOST_CHARACTERS], answers).read()


def _put(text: str, items: Sequence[Item]) -> str:
    """Return a question with the names of items where it names their places, or else behind it."""
    each = [" ".join(item.names) for item in items]
    if len({match.group() for match in _PLACE.finditer(text)}) == len(list(_PLACE.finditer(text))) == len(each) > 1:
        names_in_order = iter(each)
        return _PLACE.sub(lambda _: next(names_in_order), text)
    names = ", ".join(each)
    for pattern in (_SOME, _PLACE, _BOTH, _LIST):
        if first := pattern.search(text):
            rest = pattern.sub("", text[first.end() :])
            return " ".join(f"{text[: first.start()]} {names}{rest}".split())
    return ": ".join(part for part in (text.rstrip(" ?!."), names) if part)


def _place_of(text: str, superlative: re.Match[str]) -> int:
    """Return which one a superlative means: "the second cheapest", "the cheapest but one"."""
    before = text[: superlative.start()].split()[-1:]
    steps = _BUT.match(text, superlative.end())
    return _COUNTS.get(steps["steps"].lower(), 1) if steps else _ORDINALS.get("".join(before).lower(), 0)


def _position_of(match: re.Match[str]) -> int:
    word = match["place"] or match["ordinal"] or match["bare"] or match["pair"]
    return _PLACES[word.lower()] if word else int(match["number"] or match["hash"] or match["alone"]) - 1


def _is_name(text: str) -> bool:
    """Whether a text may be a name: a sentence in a list is none."""
    return len(text.split()) <= MOST_WORDS


def _stems(text: str) -> frozenset[str]:
    # A short number is an amount far more often than a part of a name: "rated above 4" means no "Onyx 4".
    words = (word for word in words_in_order(text) if word not in STOP_WORDS)
    return frozenset(stem(word) for word in words if not (word.isdecimal() and len(word) < 3))
