"""Words of a text, and what scripted assistants read alike in them: phrases, amounts, exclusions.

Names of things (products, companies, accounts) are the assistants' own.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from threadkeep_assistants.vocabulary.amounts import Limit, Number, count_in, limits_in, numbers_in, unread_in
from threadkeep_assistants.vocabulary.scanning import scanned, word_set


class Text:
    """The words of a text."""

    def __init__(self, text: str) -> None:
        self.words = scanned(text)

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
        return self.words.at(place)

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """All numbers, in digits or in words."""
        return numbers_in(self.words)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """What numbers must stay within."""
        return tuple(limits_in(self.words, self.numbers))

    @cached_property
    def count(self) -> int | None:
        """How many are wanted: "top 5", "show me three"; None if it does not say."""
        return count_in(self.words, self.numbers)

    @cached_property
    def unread(self) -> str:
        """A word that tells of an amount which could not be read; "" if there is none."""
        return unread_in(self.words, self.numbers)

    def excluded(self, names: Sequence[tuple[int, int]]) -> list[bool]:
        """Say of names, given by the places of their words in order, which ones are not wanted: "no Sony or Bose"."""
        found = list[bool]()
        for place, (start, _) in enumerate(names):
            at = start - 1
            while at >= 0 and self.at(at) in _BETWEEN:
                at -= 1
            # "No, the second one" and "why not the second?" ask for it.
            is_asked = (self.at(at), self.at(at + 1)) in (("no", "the"), ("no", "it")) or self.at(at - 1) == "why"
            is_refused = self.at(at) in _REFUSING or self.words.said(at - 1, at + 1) in _REFUSING_PAIRS
            is_refused = is_refused and not is_asked
            found.append(is_refused or (place > 0 and found[-1] and at < names[place - 1][1]))
        return found


_REFUSING = word_set(
    "no not neither none without except excluding exclude besides nor minus remove drop skip ignore non ohne sin sans"
    " hate avoid apart aside"
)
_REFUSING_PAIRS = frozenset(
    ("other than", "anything but", "else but", "leave out", "rather than", "everything but", "all but")
)
_BETWEEN = word_set("the a an any from by of in with for or and nor all more want like need show me into")


@lru_cache(maxsize=512)
def _phrases(phrases: str) -> tuple[str, ...]:
    return tuple(f" {phrase[:-1]}" if phrase.endswith("*") else f" {phrase} " for phrase in phrases.split("|"))
