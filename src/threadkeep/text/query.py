"""A search as a person writes it, taken apart once for every backend, and what its filters let through.

    otter "sea shore" -zoo assistant:chat role:user status:active title:animals after:2026-01-01 before:2026-02

A backend narrows by what it has an index of; what is accepted is decided here.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, TypeVar

from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Role
from threadkeep.conversation.value import check_text
from threadkeep.errors import InvalidSearch
from threadkeep.text.words import MAX_QUERY_WORDS, query_terms, words

EnumT = TypeVar("EnumT", bound=StrEnum)


class Subject(NamedTuple):
    """What a search asks about a conversation."""

    id: str
    title: str | None
    assistant: str | None
    status: Status
    created_at: datetime


class Terms:
    """Words that a text must hold: all that are `required`, one that begins with `prefix`, and `phrases` together."""

    def __init__(self) -> None:
        self.phrases: list[list[str]] = []
        self.required: list[str] = []
        self.prefix: str | None = None

    def __bool__(self) -> bool:
        return bool(self.required or self.prefix)

    def add(self, text: str, *, together: bool, typing: bool) -> None:
        """Add words; those in quotes stand together. What is still being typed may be the beginning of a word."""
        found = query_terms(text)
        if together and found:
            self.phrases.append(found)
        elif typing and found:
            self.prefix = found.pop()
        self.required = sorted({*self.required, *found})

    def fits(self, words: set[str]) -> bool:
        """Whether a text with these words may be what is looked for; phrases are not looked at."""
        begun = self.prefix
        return words.issuperset(self.required) and (begun is None or any(word.startswith(begun) for word in words))

    def matches(self, word: str) -> bool:
        """Whether an indexed word is one that is looked for."""
        return word in self.required or (self.prefix is not None and word.startswith(self.prefix))

    def stands_in(self, text: str) -> bool:
        """Whether a text that has the words has those together that are asked for together."""
        wanted = [phrase for phrase in self.phrases if len(phrase) > 1]
        return not wanted or all(map(_in_a_row(query_terms(text)).__contains__, map(_in_a_row, wanted)))


class Query(Terms):
    """A search as a person writes it: words, "words together", `-word` for what must not be there, and filters.

    `excluded` are single words, which an index can leave out, `unwanted` phrases. A filter is none where it is not set:
    `since` and `until` (excluded) are moments, `title` holds words of the conversation's title.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.excluded: set[str] = set()
        self.unwanted: list[list[str]] = []
        self.title = Terms()
        self.assistant: str | None = None
        self.status: Status | None = None
        self.role: Role | None = None
        self.since: datetime | None = None
        self.until: datetime | None = None
        check_text(text)
        for part in _PART.finditer(text):
            self._read(part, is_typing=part.end() == len(text) and text[-1].isalnum())
        self._check()

    def _read(self, part: re.Match[str], *, is_typing: bool) -> None:
        minus, name, phrase, word = part.groups()
        value, together = (word, False) if phrase is None else (phrase, True)
        name = name.lower() if name else None
        if name is not None and name not in FILTERS:
            if value[:1].isalpha() or together:
                raise InvalidSearch(f"There is no filter {name}: but {_listed(FILTERS)}. Quotes make a text of it.")
            name, value = None, part[0].removeprefix("-")
        if name is not None:
            if minus:
                raise InvalidSearch(f"The filter {name}: cannot be excluded; only words can.")
            self._filter(name, value, together=together, is_typing=is_typing)
        elif not minus:
            self.add(value, together=together, typing=is_typing)
        elif len(terms := query_terms(value)) == 1:
            self.excluded.update(terms)
        elif terms:
            self.unwanted.append(terms)

    def _filter(self, name: str, value: str, *, together: bool, is_typing: bool) -> None:
        if name == "title":
            self.title.add(value, together=together, typing=is_typing)
            return
        field = {"after": "since", "before": "until"}.get(name, name)
        if getattr(self, field) is not None:
            raise InvalidSearch(f"The filter {name}: is there twice.")
        setattr(self, field, _FILTER_VALUES[name](name, value))

    def _check(self) -> None:
        if not self and not self.is_about_conversations:
            raise InvalidSearch(
                "Words that are left out and role: need a word to look for." if self._is_narrowed else None
            )
        if not self and self.role:
            raise InvalidSearch("The filter role: needs a word to look for.")
        if self.since and self.until and self.since >= self.until:
            raise InvalidSearch("The moment of after: comes before that of before:.")
        if len(self.required) + len(self.excluded) + len(self.title.required) > MAX_QUERY_WORDS:
            raise InvalidSearch(f"A search has at most {MAX_QUERY_WORDS} words.")

    @property
    def _is_narrowed(self) -> bool:
        return bool(self.excluded or self.unwanted or self.role)

    @property
    def is_about_conversations(self) -> bool:
        """Whether filters alone say which conversations are looked for."""
        return bool(self.title or self.assistant or self.status or self.since or self.until)

    @property
    def is_filtered(self) -> bool:
        """Whether an entry that holds the words may still be none that is looked for."""
        return bool(self.is_about_conversations or self.role)

    def fits(self, words: set[str]) -> bool:
        return super().fits(words) and words.isdisjoint(self.excluded)

    def stands_in(self, text: str) -> bool:
        if self.unwanted and any(map(_in_a_row(query_terms(text)).__contains__, map(_in_a_row, self.unwanted))):
            return False
        return super().stands_in(text)

    def accepts(self, role: Role, moment: datetime, subject: Callable[[], Subject]) -> bool:
        """Whether the filters let a message through; its conversation is looked at only if they ask about it."""
        if not self._is_within(moment) or self.role not in (None, role):
            return False
        return not (self.assistant or self.status or self.title) or self._is_of(subject())

    def accepts_title(self, subject: Subject) -> bool:
        """Whether a conversation is looked for itself: by the words in its title, or by filters alone."""
        if self.role or not self._is_within(subject.created_at) or not self._is_of(subject):
            return False
        return self.fits(words(subject.title or ""))

    def _is_within(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)

    def _is_of(self, subject: Subject) -> bool:
        if self.assistant not in (None, subject.assistant) or self.status not in (None, subject.status):
            return False
        title = subject.title or ""
        return not self.title or (self.title.fits(words(title)) and self.title.stands_in(title))


# A word or a phrase, with a minus or the name of a filter before it where something begins.
_PART = re.compile(r'(?:(?<!\S)(-))?(?:(?<![^\s-])([A-Za-z]{2,}):(?=[^\s:/]))?(?:"([^"]*)"|([^\s"]+|"))')


def _in_a_row(terms: Sequence[str]) -> str:
    return "\x00" + "\x00".join(terms) + "\x00"


def _one_of(name: str, value: str, choices: type[EnumT]) -> EnumT:
    try:
        return choices(value.lower())
    except ValueError:
        raise InvalidSearch(f"There is no {name} {value}, but {_listed(choices)}.") from None


def _moment(name: str, value: str) -> datetime:
    """Return the beginning of a year, a month or a day, or a moment; without an offset it is UTC."""
    whole = value + {4: "-01-01", 7: "-01"}.get(len(value), "")
    try:
        moment = datetime.fromisoformat(whole)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidSearch(f"The filter {name}: takes a date such as 2026-01-31, and not {value}.") from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


_FILTER_VALUES: dict[str, Callable[[str, str], object]] = {
    "assistant": lambda _, value: value,
    "before": _moment,
    "after": _moment,
    "role": lambda name, value: _one_of(name, value, Role),
    "status": lambda name, value: _one_of(name, value, Status),
}
FILTERS = (*_FILTER_VALUES, "title")
"""The filters of a search, by name."""
