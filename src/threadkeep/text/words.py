"""How text falls into words, for every index and every comparison: lower case, no accents, dense scripts by pairs.

A script that is written without spaces (Chinese, Japanese, Thai, ...) gives each pair of neighbouring characters.
"""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from threadkeep.conversation.entry import Body
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Reasoning
from threadkeep.conversation.value import check_text
from threadkeep.text.stems import forms
from threadkeep.text.stop_words import BY_LANGUAGE, language_of

INDEXED_CHARACTERS = 100_000
"""How much of one entry is indexed."""
MAX_WORD = 64
MARK = "\u00a4\u00a4"
"""What a mark begins with."""
MAX_SPEAKER = 40
"""Within how many characters a message may say who speaks."""
MAX_QUERY_WORDS = 32
MAX_FORMS = 250
MAX_QUERY_CHARACTERS = 8_000
"""How much of a query an index looks at; embeddings of a provider take no more either."""

_ASCII_WORD = re.compile("[a-z0-9]+")
# Letters and digits, with the vowel signs of Hebrew, Arabic and the scripts of India, which are no letters to Python.
_SIGNS = "\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0900-\u0dff"
_WORD = re.compile(f"(?:[^\\W_]|[{_SIGNS}])+")
# Scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Han, Hangul.
DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
# A word as it stands in a text without underscores: with the accents that are written as signs of their own.
SPOKEN = re.compile(f"[a-zA-Z0-9\\w\u0300-\u036f{_SIGNS}]+")
_MARKS = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00b1\u00b6-\u00b8\u00bb\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff\U0001f000-\U0001faff]"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")


class Word(NamedTuple):
    """A word as it is indexed, and where it stands in the text."""

    text: str
    start: int
    end: int


def searchable(body: Body) -> str:
    """Return the text of a body that can be found: content, blocks and parts of messages; nothing of other entries.

    What a model thought is not what it said, and cannot be found.
    """
    if not isinstance(body, Message):
        return ""
    if not body.blocks and not body.parts:
        return body.content[:INDEXED_CHARACTERS]
    beside = (*body.blocks, *(part for part in body.parts if not isinstance(part, Reasoning)))
    unsaid = {"type", "file", "media_type"}
    texts = [body.content, *(text for each in beside for text in _texts(each.model_dump(exclude=unsaid)))]
    return "\n".join(text for text in texts if text)[:INDEXED_CHARACTERS]


def _texts(value: Any) -> list[str]:
    """Return every string in a JSON value."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for child in value.values() for text in _texts(child)]
        case list() | tuple():
            return [text for child in value for text in _texts(child)]
        case _:
            return []


def words(text: str) -> set[str]:
    """Return the different words of a text, as they are indexed."""
    if not text.isascii():
        text = without_marks(text)
    if not text.isascii() and DENSE.search(text):
        return {word.text for word in find_words(text)}
    return set(fold(text) if text.isascii() else fold_all(text))


def marks(text: str, said_at: datetime) -> list[str]:
    """Return what an index holds of a message beside its words: who speaks ("Ada: ..."), and its month and its day.

    They begin as no word does, so that no search meets them and no message names another conversation by them.
    """
    speaker, colon, _ = text[:MAX_SPEAKER].partition(":")
    named = words_in_order(speaker) if colon else ()
    return [MARK + mark for mark in (*named, f"{said_at:%Y%m}", f"{said_at:%Y%m%d}")]


def without_marks(text: str) -> str:
    """Return a text of the same length without dashes, quotation marks and pictures, which are all that keeps most
    English text from the fast way."""
    return _MARKS.sub(" ", text)


def fold_all(text: str) -> list[str]:
    """Return what `fold` makes of the words of a text, in no order: most of them need no folding."""
    spoken = SPOKEN.findall(text.replace("_", " "))
    foreign = [word for word in spoken if not word.isascii()]
    return fold(" ".join(filter(str.isascii, spoken))) + fold(" ".join(foreign))


def fold(text: str) -> list[str]:
    """Return the words of a text without dense scripts: lower case, no accents, one form of each sign."""
    if text.isascii():
        return [word[:MAX_WORD] for word in _ASCII_WORD.findall(text.lower())]
    # Accents are taken off, and only then does the text fall into words; what is left is put together again.
    plain = unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))
    return [word[:MAX_WORD] for word in _WORD.findall(plain)]


def find_words(text: str) -> list[Word]:
    """Return the words of a text in order; dense scripts give each pair of neighbours, and the last sign alone."""
    found = []
    for match in SPOKEN.finditer(text.replace("_", " ")):
        last = match.start()
        for dense in DENSE.finditer(text, *match.span()):
            found += _spell(text, last, dense.start())
            ends = [min(at + 2, dense.end()) for at in range(*dense.span())]
            found += [Word(text[at:end], at, end) for at, end in zip(range(*dense.span()), ends, strict=True)]
            last = dense.end()
        found += _spell(text, last, match.end())
    return found


def _spell(text: str, start: int, end: int) -> list[Word]:
    """Return what a stretch without dense scripts is indexed as: mostly one word, none if it is empty."""
    spoken = text[start:end]
    if spoken.isascii():
        return [Word(spoken.lower()[:MAX_WORD], start, end)] if spoken else []
    return [Word(word, start, end) for word in fold(spoken)]


def words_in_order(text: str) -> list[str]:
    """Return the words of a text as they are indexed, in order; one that is there twice comes twice."""
    return fold(text) if text.isascii() else [word.text for word in find_words(text)]


def query_forms(words: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return for each word its different forms as they are indexed, as many words and forms as a search may have."""
    spelled = (list(dict.fromkeys(form for text in each for form in query_terms(check_text(text)))) for each in words)
    return [each[:MAX_FORMS] for each in islice(filter(None, spelled), MAX_QUERY_WORDS)]


def query_terms(text: str) -> list[str]:
    """Return the words of a query; of a dense script the pairs only, because the last sign alone finds too much."""
    found = find_words(text)
    return [
        word.text
        for at, word in enumerate(found)
        if not (at and len(word.text) == 1 and DENSE.match(word.text) and found[at - 1].end == word.end)
    ]


def content_words(text: str, limit: int = MAX_QUERY_WORDS) -> list[str]:
    """Return the different words of a text, as they are indexed and in order, without the stop words of its language.

    It may return none: "what about it?" says nothing that could be looked up.
    """
    return _content(text)[1][:limit]


def content_forms(text: str, before: str = "") -> list[tuple[str, ...]]:
    """Return for each content word of a text the forms that it may have in its language, which what was said before
    helps to tell."""
    language, words = _content(text, before)
    return [forms(word, language) for word in words[:MAX_QUERY_WORDS]]


def _content(text: str, before: str = "") -> tuple[str, list[str]]:
    """Return the language of a text, and its different words without the stop words."""
    words = dict.fromkeys(query_terms(text[:MAX_QUERY_CHARACTERS]))
    language = language_of(words, words_in_order(before))
    return language, [word for word in words if word not in BY_LANGUAGE[language]]
