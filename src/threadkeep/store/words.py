"""Full-text search as far as it is the same for every backend: words, queries, ranking and snippets.

A backend keeps an index from words to entries and returns the newest entries that match; how text falls into words,
which entry is the best and what is shown of it is decided here, so that the same search finds the same everywhere.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from threadkeep.conversation.entry import Body
from threadkeep.conversation.message import Message
from threadkeep.conversation.value import check_text
from threadkeep.errors import InvalidSearch

CANDIDATES = 200
"""How many matching entries, the newest, are ranked for one search."""
RELATED = 40
"""How many entries, the newest, are considered for each word when related entries are looked for."""
INDEXED_CHARACTERS = 100_000
"""How much of one entry is indexed."""
MAX_WORD = 64
MAX_QUERY_WORDS = 32

_ASCII_WORD = re.compile("[a-z0-9]+")
# Letters and digits, with the vowel signs of Hebrew, Arabic and the scripts of India, which are no letters to Python.
_WORD = re.compile("(?:[^\\W_]|[\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0900-\u0dff])+")
# Scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Han, Hangul.
_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
# A word as it stands in a text: with the accents that are written as signs of their own.
_SPOKEN = re.compile(_WORD.pattern.replace("[\u0591", "[\u0300-\u036f\u0591"))
_MARKS = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00b1\u00b6-\u00b8\u00bb\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff\U0001f000-\U0001faff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")


class Word(NamedTuple):
    """A word as it is indexed, and where it stands in the text."""

    text: str
    start: int
    end: int


def searchable(body: Body) -> str:
    """Return the text of a body that can be found: content and blocks of messages; nothing of other entries."""
    if not isinstance(body, Message):
        return ""
    if not body.blocks:
        return body.content[:INDEXED_CHARACTERS]
    texts = [body.content, *(text for block in body.blocks for text in _texts(block.model_dump(exclude={"type"})))]
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
        # Dashes, quotation marks and pictures are all that keeps most English text from the fast way.
        text = _MARKS.sub(" ", text)
    if not text.isascii() and _DENSE.search(text):
        return {word.text for word in _find(text)}
    return set(_fold(text if text.isascii() else " ".join(_SPOKEN.findall(text))))


def _fold(text: str) -> list[str]:
    """Return the words of a text without dense scripts: lower case, no accents, one form of each sign."""
    if text.isascii():
        return [word[:MAX_WORD] for word in _ASCII_WORD.findall(text.lower())]
    # Accents are taken off, and only then does the text fall into words; what is left is put together again.
    plain = unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))
    return [word[:MAX_WORD] for word in _WORD.findall(plain)]


def _find(text: str) -> list[Word]:
    """Return the words of a text in order; dense scripts give each pair of neighbours, and the last sign alone."""
    found = []
    for match in _SPOKEN.finditer(text):
        last = match.start()
        for dense in _DENSE.finditer(text, *match.span()):
            found += _spell(text, last, dense.start())
            ends = [min(at + 2, dense.end()) for at in range(*dense.span())]
            found += [Word(text[at:end], at, end) for at, end in zip(range(*dense.span()), ends, strict=True)]
            last = dense.end()
        found += _spell(text, last, match.end())
    return found


def _spell(text: str, start: int, end: int) -> list[Word]:
    """Return what a stretch without dense scripts is indexed as: mostly one word, none if it is empty."""
    return [Word(word, start, end) for word in _fold(text[start:end])]


def words_in_order(text: str) -> list[str]:
    """Return the words of a text as they are indexed, in order; one that is there twice comes twice."""
    return _fold(text) if text.isascii() else [word.text for word in _find(text)]


def query_words(texts: Iterable[str]) -> list[str]:
    """Return the different words of some texts as they are indexed, as many as a search may have."""
    return sorted({word for text in texts for word in _terms(check_text(text))})[:MAX_QUERY_WORDS]


class Query:
    """A search as words: `required` must all be there, `prefix` begins a word, `phrases` stand together."""

    def __init__(self, text: str) -> None:
        check_text(text)
        self.phrases = [_terms(part) for part in re.findall(r'"([^"]*)"', text)]
        loose = _terms(re.sub(r'"[^"]*"', " ", text))
        # What stands at the very end may still be typed; a sign of a dense script is always a beginning.
        typing = bool(loose) and text[-1:].isalnum()
        self.prefix = loose.pop() if typing else None
        self.required = sorted({*loose, *(word for phrase in self.phrases for word in phrase)})
        if not self.required and not self.prefix:
            raise InvalidSearch
        if len(self.required) > MAX_QUERY_WORDS:
            raise InvalidSearch(f"A search has at most {MAX_QUERY_WORDS} words.")

    def fits(self, words: set[str]) -> bool:
        """Whether a text with these words may be what is looked for; phrases are not looked at."""
        begun = self.prefix
        return words.issuperset(self.required) and (begun is None or any(word.startswith(begun) for word in words))

    def matches(self, word: str) -> bool:
        """Whether an indexed word is one that is looked for."""
        return word in self.required or (self.prefix is not None and word.startswith(self.prefix))


def _terms(text: str) -> list[str]:
    """Return the words of a query; of a dense script the pairs only, because the last sign alone finds too much."""
    found = _find(text)
    return [
        word.text
        for at, word in enumerate(found)
        if not (at and len(word.text) == 1 and _DENSE.match(word.text) and found[at - 1].end == word.end)
    ]


class Found(NamedTuple):
    """A candidate that matches: how well, and what to show."""

    score: float
    snippet: str
    highlights: tuple[tuple[int, int], ...]


def rank(query: Query, texts: Iterable[str]) -> list[Found | None]:
    """Return for each text (newest first) how well it answers the query, or None if a phrase is not in it.

    Rare words count more, repeated ones a little more, long texts a little less, and of equals the newer wins.
    """
    texts = list(texts)
    counted = [[word for word in _find(text) if query.matches(word.text)] for text in texts]
    weight = _weights(query, counted)
    found: list[Found | None] = []
    for place, (text, hits) in enumerate(zip(texts, counted, strict=True)):
        if not hits or not _has_phrases(query, text):
            found.append(None)
            continue
        often = Counter(query.prefix if word.text not in query.required else word.text for word in hits)
        length = 0.75 + 0.25 * len(text) / 400
        score = sum(weight[word] * count * 2.2 / (count + 1.2 * length) for word, count in often.items() if word)
        found.append(Found(round(score - place * 1e-4, 6), *_snippet(text, hits)))
    return found


def relate(found: Iterable[Sequence[int]], limit: int) -> list[int]:
    """Return the entries that have most to do with some words, given for each word the newest entries that hold it.

    A word that few entries hold says more than one that many do; of equals the newer comes first.
    """
    score: dict[int, float] = {}
    for seqs in found:
        for seq in seqs:
            score[seq] = score.get(seq, 0) + math.log(1 + RELATED / len(seqs))
    return sorted(score, key=lambda seq: (-score[seq], -seq))[:limit]


def _weights(query: Query, counted: list[list[Word]]) -> dict[str, float]:
    holding: Counter[str] = Counter()
    for hits in counted:
        holding.update({word.text if word.text in query.required else query.prefix or "" for word in hits})
    return {word: math.log(1 + (len(counted) + 1) / (count + 0.5)) for word, count in holding.items()}


def _has_phrases(query: Query, text: str) -> bool:
    if not any(len(phrase) > 1 for phrase in query.phrases):
        return True
    spoken = "\x00" + "\x00".join(_terms(text)) + "\x00"
    return all("\x00" + "\x00".join(phrase) + "\x00" in spoken for phrase in query.phrases)


def _snippet(text: str, hits: list[Word], around: int = 80) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the part of the text with most hits close together, on one line, and where the hits are in it."""
    best = max(hits, key=lambda hit: sum(hit.start <= other.start < hit.start + around for other in hits))
    start, end = max(0, best.start - around), min(len(text), best.start + 2 * around)
    if start:
        start = text.find(" ", start, best.start) + 1 or start
    before, after = "…" if start else "", "…" if end < len(text) else ""
    snippet = before + re.sub(r"[\x00-\x1f\x7f]", " ", text[start:end]) + after
    shift = len(before) - start
    ranges = _joined((hit.start, hit.end) for hit in hits if hit.start >= start and hit.end <= end)
    return snippet, tuple((low + shift, high + shift) for low, high in ranges)


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in ranges:
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
