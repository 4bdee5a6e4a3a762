"""References: "it", "the second one", "the others", "which of the two", and what they stand for, given what was shown.

What was shown is a sequence of groups, oldest first: a list, two things beside each other, or one thing that was looked
at. "It" is what was looked at last and, after a list, its first; places count in the newest list that has them.
"""

from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from threadkeep_assistants.vocabulary.amounts import is_superlative
from threadkeep_assistants.vocabulary.scanning import word_set
from threadkeep_assistants.vocabulary.words import Text

T = TypeVar("T")
Kind = Literal["place", "span", "next", "other", "two", "others", "them", "it"]

ORDINALS = {
    word: place
    for place, names in enumerate(
        (
            "first 1st erste primero", "second 2nd zweite segundo", "third 3rd dritte tercero", "fourth 4th",
            "fifth 5th", "sixth 6th", "seventh 7th", "eighth 8th", "ninth 9th", "tenth 10th",
        )
    )
    for word in names.split()
}  # fmt: skip
_ENDS = {"top": 0, "leading": 0, "best": 0, "last": -1, "bottom": -1, "worst": -1, "penultimate": -2}
_LEADERS = {"leader": 0, "winner": 0, "former": 0, "latter": -1, "top": 0, "last": -1, "bottom": -1}
_THINGS = word_set(
    "one stock company name pick bank ticker entry item result row product option choice model phone account"
)
_TIMES = word_set("quarter year month week half day time of")
_LISTS = word_set("list ranking rankings table lists")
_BEFORE_THAT = word_set(
    "about to of is was with than like and or for on at in from does did do has compare vs versus why explain"
)
"""Words behind which "that" points at something; elsewhere it begins a clause: "stocks that grow"."""
_MOST = 20


@dataclass(frozen=True, slots=True)
class Reference:
    """Words that point back, where they stand, and the place or the count that they name; a span from the end is
    below zero. What is refused is pointed at to be left out: "all but the first"."""

    kind: Kind
    at: int
    value: int = 0
    is_refused: bool = False


def list_named(text: Text) -> str | int | None:
    """Return which list a text names: its place, "previous" or "newest"; None if it names none."""
    for at, word in enumerate(text.words):
        if word.text not in _LISTS or not at:
            continue
        before = [text.at(at - 1), text.at(at - 2)]
        for each in before:
            if each in ORDINALS or each in ("original", "initial"):
                return ORDINALS.get(each, 0)
            if each in ("previous", "prior", "earlier", "other", "old"):
                return "previous"
        if before[0] in ("the", "that", "this", "last", "latest", "newest"):
            return "newest"
    return None


def references(text: Text) -> list[Reference]:
    """Return everything in a text that points at what was shown, in order, apart from whole lists."""
    all_found, at = list[Reference](), 0
    while at < len(text.words):
        found = _pointed(text, at) or _pronoun(text, at)
        all_found += [found] if found else []
        at += 1 if not found or found.kind in ("it", "them") else 3 if found.kind == "next" else 2
    refused = text.excluded([(each.at, each.at + 1) for each in all_found])
    return [replace(each, is_refused=no) for each, no in zip(all_found, refused, strict=True)]


def places_back(text: Text, at: int) -> int:
    """Return how many places "but one" and "but two" step back, if they stand at a place; else 0."""
    return {"but one": 1, "but two": 2, "but three": 3}.get(text.words.said(at, at + 2), 0)


def _pointed(text: Text, at: int) -> Reference | None:
    """Return the places that begin at a word."""
    word, before, behind = text.at(at), text.at(at - 1), text.at(at + 1)
    if behind in _LISTS or behind in _TIMES:
        return None
    count = next((int(number.value) for number in text.numbers if number.at == at + 1), 0)
    if 1 < count <= _MOST and word in ("first", "last", "bottom", "top", "best"):
        is_whole = before == "the" and text.at(at + 2) in ("", "and", "of", "in", "on", "from", "please", "with", "to")
        is_span = word in ("first", "last", "bottom") or is_whole
        return Reference("span", at, -count if word in ("last", "bottom") else count) if is_span else None
    if word in ("number", "nr", "nummer", "option", "item") and (place := _counted(text, at + 1)):
        return Reference("place", at, place - 1)
    number = text.words[at].number
    is_counted = before in ("numbers", "and") and text.has("numbers")
    if number and 1 <= number <= _MOST and (is_counted or text.words[at].sign == "#" or len(text.words) == 1):
        return Reference("place", at, int(number) - 1)
    is_anchored = before in ("", "the", "your", "that", "my", "this", "and") or behind in _THINGS
    if word == "last" and (steps := places_back(text, at + 1 + (behind == "one"))):
        return Reference("place", at, -1 - steps)
    if word in ORDINALS and is_anchored and not is_superlative(behind):
        is_from_end = behind in ("last", "to") and text.at(at + 1 + (behind == "to")) == "last"
        return Reference("place", at, -1 - ORDINALS[word] if is_from_end else ORDINALS[word])
    if word in _ENDS and (behind in _THINGS or (behind in ("ranked", "rated") and text.at(at + 2) in _THINGS)):
        return Reference("place", at, _ENDS[word])
    if f"{word} {behind}" == "runner up":
        return Reference("place", at, 1)
    if word in _LEADERS and before == "the" and (behind in ("", "in", "please", "and") or word.endswith("ter")):
        return Reference("place", at, _LEADERS[word])
    return None


def _counted(text: Text, at: int) -> int:
    """Return the number at a place, also "one"; 0 if there is none."""
    if text.at(at) == "one":
        return 1
    return next((int(number.value) for number in text.numbers if number.at == at and number.value <= _MOST), 0)


def _pronoun(text: Text, at: int) -> Reference | None:
    word, before, behind = text.at(at), text.at(at - 1), text.at(at + 1)
    is_two = word == "two" and before in ("the", "these", "those") and not is_superlative(behind)
    if word == "both" or is_two or f"{word} {behind}" == "each other":
        return Reference("two", at)
    if word in ("next", "previous") and (behind in _THINGS or (before == "the" and not behind)):
        return Reference("next", at, 1 if word == "next" else -1)
    if word == "one" and behind == "after":
        return Reference("next", at, 1)
    if word == "other" and (behind in _THINGS or (before == "the" and not behind)):
        return Reference("other", at)
    if (word in ("others", "rest", "remaining") and before in ("the", "all")) or f"{word} {behind}" == "other ones":
        return Reference("others", at)
    if word == "other" and before == "the" and (behind in ("two", "three", "four") or behind.endswith("s")):
        return Reference("others", at)
    if word in ("them", "they", "their", "theirs", "these", "those") and behind != "two":
        return Reference("them", at)
    if word in ("it", "its", "itself") or (word in ("company", "stock", "product") and before == "the"):
        return Reference("it", at)
    is_that = behind in _THINGS or not behind or (word == "that" and before in _BEFORE_THAT)
    return Reference("it", at) if word in ("that", "this") and is_that and before != "one" else None


@dataclass(frozen=True)
class Shown(Generic[T]):
    """What was shown so far, oldest first."""

    groups: tuple[tuple[T, ...], ...] = ()

    @property
    def newest(self) -> tuple[T, ...]:
        """What was shown last."""
        return self.groups[-1] if self.groups else ()

    @property
    def lists(self) -> list[tuple[T, ...]]:
        """The groups that are lists, oldest first: two beside each other are one only where there is no longer one."""
        least = 2 if any(len(group) > 2 for group in self.groups) else 1
        return [group for group in self.groups if len(group) > least]

    @property
    def several(self) -> tuple[T, ...]:
        """The newest group of more than one."""
        return next((group for group in reversed(self.groups) if len(group) > 1), ())

    @property
    def two(self) -> tuple[T, ...]:
        """The two that were shown last: beside each other, or one after the other."""
        last = [group for group in self.groups[-2:] if len(group) == 1]
        if len(last) == 2 and last[0] != last[1]:
            return (*last[0], *last[1])
        return self.several if len(self.several) == 2 else ()

    def list_at(self, which: str | int | None) -> tuple[T, ...]:
        """Return the list that `list_named` found, without a name the newest; empty if there is no such list.

        One that was shown again counts once.
        """
        lists = self.lists
        if isinstance(which, int):
            return next(iter(list(dict.fromkeys(lists))[which : which + 1]), ())
        others = [group for group in lists if group != lists[-1]] if which == "previous" else []
        return next(reversed(others or lists), ())

    def meant(self, text: Text) -> list[tuple[int, T]]:
        """Return all that a text points at, each with the place of the words that do; empty where nothing fits.

        Where it only says which ones of a list are not meant, those are the others.
        """
        which, found, refused = list_named(text), list[tuple[int, T]](), list[tuple[int, T]]()
        named = references(text)
        for each in named:
            # "The runner-up, is it in stock?": what was pointed at before, in the same breath, is it.
            if each.kind == "it" and any(other.kind == "place" and other.at < each.at for other in named):
                continue
            lists = [self.list_at(which)] if which is not None else [g for g in reversed(self.groups) if len(g) > 1]
            items = [(each.at, item) for item in self._resolved(each, lists)]
            if not each.is_refused:
                found += items
            elif each.kind in ("place", "span"):
                refused += items
        if found or not refused:
            return found
        left_out = {item for _, item in refused}
        return [(refused[0][0], item) for item in self.list_at(which) if item not in left_out]

    def _resolved(self, reference: Reference, lists: list[tuple[T, ...]]) -> tuple[T, ...]:
        place, newest = reference.value, lists[0] if lists else ()
        match reference.kind:
            case "place":
                return next(((group[place],) for group in lists if -len(group) <= place < len(group)), ())
            case "span":
                return newest[place:] if place < 0 else newest[:place]
            case "next" | "other":
                return self._neighbour(newest, place)
            case "two":
                return self.two
            case "others":
                listed = self.list_at(None)
                since = next((place for place, group in enumerate(reversed(self.groups)) if group == listed), 0)
                seen = {item for group in self.groups[len(self.groups) - since :] for item in group}
                return tuple(item for item in listed if item not in seen)
            case "them":
                return self.newest if len(self.newest) > 1 else self.two or newest or self.newest
            case "it":
                return self.newest[:1]

    def _neighbour(self, group: tuple[T, ...], step: int) -> tuple[T, ...]:
        """Return what stands so many places behind the one that was looked at or, without a step, the other of two."""
        at = group.index(self.newest[0]) if self.newest and self.newest[0] in group else -1
        if step:
            return group[at + step : at + step + 1] if at + step >= 0 else ()
        return (group[1 - max(at, 0)],) if len(group) == 2 else ()
