"""The signs by which a question shows whether it stands alone. Pure: a text goes in.

No sign decides alone; what each of them weighs is in `follow_up`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from threadkeep.text.stems import stem
from threadkeep.text.stop_words import BY_LANGUAGE, language_of
from threadkeep_retrieval.ordinals import places
from threadkeep_retrieval.routing.vocabulary import (
    ALONE,
    AUXILIARIES,
    BEGINNINGS,
    GENERAL,
    GOING_ON,
    INNER,
    INTRODUCING,
    MANY,
    POINTING,
    POLITE,
    QUESTION_WORDS,
    SINGLE,
    SMALL,
    UNSAID,
)

_WORD = re.compile(r"[^\W_]+(?:['\u2019.&/-][^\W_]+)*")
_BARE_WHICH = re.compile(
    r"\W*(?:(?:and|but|so|ok|okay|well)\W+)*which (?:(?:are|is|was|were)\b(?! the\b)|(?:have|has|had|do|does"
    r"|did|can|could|will|would|comes?|costs?|supports?|includes?|offers?|of)\b)",
    re.IGNORECASE,
)
_COMPLEMENT = frozenset(
    {"of", "between", "for", "about", "in", "to", "with", "on", "from", "at", "by", "against", "during"}
)
_PAUSE = re.compile(r"[.,;:!?]\s|\b(?:and|but|because|so) ", re.IGNORECASE)
_EXPLETIVE = frozenset({"mean", "take", "possible", "cost", "like"})
_ANSWERED_BY_THERE = frozenset({"is", "are", "was", "were", "isn't", "aren't"})
_MAX_FRAGMENT = 3


@dataclass(frozen=True, slots=True)
class Signs:
    """What a question shows. `specific` are the words that name something by themselves."""

    points_back: bool
    goes_on: bool
    begins_as_follow_up: bool
    names_a_place: bool
    nothing_specific: bool
    one_specific: bool
    bare_general: bool
    definite: bool
    fragment: bool
    bare_which: bool

    def __iter__(self) -> Iterator[str]:
        """The names of the signs that are there."""
        return (field.name for field in fields(self) if getattr(self, field.name))


class Wording:
    """A question as words, and what each of them is."""

    def __init__(self, question: str) -> None:
        self.text = " ".join(question.split())
        self.written = _WORD.findall(self.text)
        self.words = [_plain(word) for word in self.written]
        pauses = [match.end() for match in _PAUSE.finditer(self.text)]
        self._clauses = [bisect_right(pauses, match.start()) for match in _WORD.finditer(self.text)]
        self.stop_words = BY_LANGUAGE[language_of(self.words)] | SMALL

    @cached_property
    def specific(self) -> list[int]:
        """Where the words stand that name something by themselves."""
        return [
            at
            for at, word in enumerate(self.words)
            if not self._is_stop(at) and stem(word) not in GENERAL and word not in GOING_ON
        ]

    @cached_property
    def proper(self) -> list[int]:
        """Where names stand: capital letters (not only at the beginning), or digits."""
        return [at for at in self.specific if _is_name(self.written[at], at)]

    def signs(self) -> Signs:
        """Return the signs."""
        size = len(self.specific)
        phrases = [self._phrase(at) for at in range(len(self.words)) if self._ends_phrase(at)]
        return Signs(
            points_back=any(self._points_back(at) for at in range(len(self.words))),
            goes_on=any(word in GOING_ON for word in self.words),
            begins_as_follow_up=self._begins_as_follow_up(),
            names_a_place=bool(places(self.text)),
            nothing_specific=not size,
            one_specific=size == 1,
            bare_general=any(bare for bare, _ in phrases),
            definite=any(definite for _, definite in phrases),
            bare_which=_BARE_WHICH.match(self.text) is not None,
            fragment=AUXILIARIES.isdisjoint(self.words)
            and (len(self.words) <= _MAX_FRAGMENT or self.words[0] in UNSAID),
        )

    def _is_stop(self, at: int) -> bool:
        return self.words[at] in self.stop_words

    def _at(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def _points_back(self, at: int) -> bool:
        """Whether a word stands for something outside this question."""
        word, before, behind = self.words[at], self._at(at - 1), self._at(at + 1)
        match word:
            case "that":
                pointing = (
                    before in ("", "about", "like", "of", "with", "for", "do", "does", "did", "than") or not behind
                )
            case "one" | "ones":
                pointing = before not in ("", "no", "any") and behind != "of"
            case "there":
                pointing = not behind and before not in _ANSWERED_BY_THERE
            case "it" if behind in _EXPLETIVE and self._at(at + 2) == "to":
                pointing = False
            case "it" if at == 1 and before == "is" and self._at(3) in ("to", "that", "if"):
                pointing = behind.endswith("er")
            case _:
                pointing = word in POINTING
        return pointing and not (word in INNER and (self._is_explained(at) or self._is_introduced(at)))

    def _is_explained(self, at: int) -> bool:
        """Whether what a word stands for was named just before, in the same question."""
        named = any(place < at for place in self.specific)
        earlier = self.words[:at]
        joined = any(
            word in ("and", "but") and self._at(place + 1) in QUESTION_WORDS for place, word in enumerate(earlier)
        )
        return named and (
            joined or "if" in earlier or (self.words[at] in ("its", "their", "his", "her") and "and" in earlier)
        )

    def _is_introduced(self, at: int) -> bool:
        """Whether an earlier clause of the question brings something up itself: "My bike is old. How do I sell it?".

        Several things may be brought up in the same clause: "Two kittens and their mother".
        """
        earlier = [end for end in self.specific if self._clauses[end] < self._clauses[at]]
        joined = self.words[at] in MANY and "and" in self.words[:at]
        beside = [end for end in self.specific if joined and end < self.words.index("and")]
        if any(self._is_plural(end) for end in (*earlier, *beside)) and self.words[at] not in SINGLE:
            return True
        return any(
            end in self.proper or any(self.words[place - 1] in INTRODUCING for place in range(max(1, end - 2), end + 1))
            for end in earlier
            if not (self.words[at] in SINGLE and self._is_plural(end))
        )

    def _is_plural(self, at: int) -> bool:
        return self.words[at].endswith("s") and stem(self.words[at]) != self.words[at]

    def _begins_as_follow_up(self) -> bool:
        start = next((at for at, word in enumerate(self.words) if word not in POLITE), 0)
        begin = " ".join(self.words[start : start + 4]) + " "
        found = next((words for words in BEGINNINGS if begin.startswith(words + " ")), None)
        if found is None or found not in ALONE:
            return found is not None
        return len(self.words) == start + 1 or self.text.lower().startswith(f"{found},")

    def _ends_phrase(self, at: int) -> bool:
        """Whether a word is the last of its phrase: its noun, mostly."""
        return not self._is_stop(at) and (at + 1 == len(self.words) or self._is_stop(at + 1))

    def _phrase(self, end: int) -> tuple[bool, bool]:
        """Return whether a phrase lacks what it belongs to, and whether it speaks of something as known: "the test"."""
        start = end
        while start and not self._is_stop(start - 1):
            start -= 1
        is_general = end not in self.specific
        completed = self._at(end + 1) in _COMPLEMENT and any(at > end for at in self.specific)
        named = any(_is_name(self.written[at], 1) for at in range(start, end + 1))
        bare = is_general and not completed and not any(at in self.specific for at in range(start, end))
        left_open = not completed if is_general else self._at(end + 1) != "of"
        is_known = self._at(start - 1) == "the" and not self._is_introduced(end)
        return bare, left_open and not named and is_known


def _plain(word: str) -> str:
    word = word.lower().replace("\u2019", "'")
    return word if word in POINTING or word in SMALL else word.removesuffix("'s")


def _is_name(written: str, at: int) -> bool:
    capitals = sum(sign.isupper() for sign in written)
    return capitals > 1 or (at > 0 and written[:1].isupper()) or any(sign.isdigit() for sign in written)


def stems(texts: Sequence[str]) -> frozenset[str]:
    """Return the stems of all words of some texts."""
    return frozenset(stem(_plain(word)) for text in texts for word in _WORD.findall(text))
