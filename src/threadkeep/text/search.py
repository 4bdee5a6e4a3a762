"""Full-text search as far as it is the same for every backend: ranking and snippets. What is asked for is a `Query`.

A backend keeps an index from words to entries and returns the newest entries that match; which entry is the best and
what is shown of it is decided here, so that the same search finds the same on every backend.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from operator import itemgetter

from threadkeep.conversation.tree import Run
from threadkeep.text.query import Query
from threadkeep.text.words import DENSE, MARK, MAX_WORD, Word, find_words, fold_all, without_marks

CANDIDATES = 200
"""How many matching entries, the newest, and how many matching titles are ranked for one search."""
SCANNED = 10_000
"""How many entries that hold the words, or titles, the newest, are looked at where filters let only some through."""
RELATED = 1000
"""How many entries, the newest, are considered for each word when related entries are looked for."""
MARKED = 20_000
"""How many are, for each mark: who spoke, and when."""
SPEAKER_SHARE = 0.1
DATE_SHARE = 0.5
"""How much it counts that the question names who said something, and when; all of its words count 1."""
NEIGHBOURS = tuple((sign * at, share) for at, share in ((1, 0.4), (2, 0.3), (3, 0.15), (4, 0.15)) for sign in (-1, 1))
"""How much of an entry's score its neighbours get, by their distance: an answer rarely repeats the question's words.

Between two messages of a turn the log may have an entry about the turn, so a distance of 4 is two messages."""
SPREAD = 1000
"""How many entries, the best, give a part of their score to their neighbours."""


class Match:
    """A candidate that matches: how well, and what to show, which is made up only if it is shown."""

    def __init__(self, score: float, text: str, hits: Callable[[str], list[Word]]) -> None:
        self.score = score
        self._text = text
        self._hits = hits

    @cached_property
    def _shown(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        return _snippet(self._text, self._hits(self._text))

    @property
    def snippet(self) -> str:
        """The part of the text with most hits close together, on one line."""
        return self._shown[0]

    @property
    def highlights(self) -> tuple[tuple[int, int], ...]:
        """Where the hits are in the snippet."""
        return self._shown[1]


def rank(query: Query, texts: Iterable[str]) -> list[Match | None]:
    """Return for each text (newest first) how well it answers the query, or None if its phrases say that it does not.

    Rare words count more, repeated ones a little more, long texts a little less, and of equals the newer wins.
    """
    texts, pattern = list(texts), _pattern(query)
    counted = [_counted(query, pattern, text) for text in texts]
    weight, hits = _weights(counted), partial(_hits, query, pattern)
    found: list[Match | None] = []
    for place, (text, often) in enumerate(zip(texts, counted, strict=True)):
        if (query and not often) or not query.stands_in(text):
            found.append(None)
            continue
        length = 1.2 * (0.75 + 0.25 * len(text) / 400)
        score = sum(weight[word] * count * 2.2 / (count + length) for word, count in often.items())
        found.append(Match(round(score - place * 1e-4, 6), text, hits))
    return found


def _pattern(query: Query) -> re.Pattern[str]:
    """Return what finds the words of a query in a text of ASCII in lower case; a longer word is cut in the index."""
    # What stands before a word is looked at behind it: a pattern that begins with letters is found much faster.
    terms = [(re.escape(term), len(term) == MAX_WORD) for term in query.required]
    terms += [(re.escape(query.prefix), True)] if query.prefix else []
    ends = (f"{term}(?<![a-z0-9]{term}){'[a-z0-9]*' if is_open else ''}(?![a-z0-9])" for term, is_open in terms)
    return re.compile("|".join(ends) or "(?!)")


def _counted(query: Query, pattern: re.Pattern[str], text: str) -> Mapping[str, int]:
    """Return how often a text holds each word that is looked for. Where they stand matters only if they are shown."""
    plain = text if text.isascii() else without_marks(text)
    if plain.isascii():
        found = pattern.findall(plain.lower())
    elif DENSE.search(plain):
        found = [word.text for word in find_words(text) if query.matches(word.text)]
    else:
        found = list(filter(query.matches, fold_all(plain)))
    often = Counter(map(itemgetter(slice(MAX_WORD)), found))
    if query.prefix is not None and (begun := [word for word in often if word not in query.required]):
        often[query.prefix] = sum(map(often.pop, begun))
    return often


def _hits(query: Query, pattern: re.Pattern[str], text: str) -> list[Word]:
    """Return the words of a text that are looked for. Most texts need not be taken apart for that."""
    plain = text if text.isascii() else without_marks(text)
    if plain.isascii():
        return [Word(hit[0][:MAX_WORD], *hit.span()) for hit in pattern.finditer(plain.lower())]
    return [word for word in find_words(text) if query.matches(word.text)]


def relate(
    forms: Sequence[Sequence[str]], found: Sequence[Sequence[int]], path: Sequence[Run], limit: int
) -> dict[int, float]:
    """Return the entries of a branch that have most to do with some words and marks, and how much, the best first,
    given for each of them its forms and the newest entries that hold one.

    A word that few entries hold says more than one that many do, and one that very many hold says nothing, unless there
    is no other. What was never said is missing everywhere: an entry that holds all words has a score of 1, and a mark
    adds to it. An entry gives a part of its score to its neighbours. Of equals the newer entry comes first.
    """
    firsts, lasts = [run.first for run in reversed(path)], [run.last for run in reversed(path)]

    def is_on_branch(seq: int) -> bool:
        place = bisect_right(firsts, seq) - 1
        return place >= 0 and seq <= lasts[place]

    spoken = [seqs for each, seqs in zip(forms, found, strict=True) if not each[0].startswith(MARK)]
    rare = [seqs for seqs in spoken if len(seqs) < RELATED]
    held = rare if any(rare) else spoken
    weights = [math.log(1 + path[0].last / max(1, len(seqs))) for seqs in held]
    shared = [(seqs, weight / sum(weights)) for seqs, weight in zip(held, weights, strict=True)]
    for each, seqs in zip(forms, found, strict=True):
        if each[0].startswith(MARK):
            shared.append((seqs, DATE_SHARE if each[0].removeprefix(MARK).isdigit() else SPEAKER_SHARE))
    score: dict[int, float] = {}
    for seqs, share in shared:
        for seq in seqs if len(path) == 1 else filter(is_on_branch, seqs):
            score[seq] = score.get(seq, 0.0) + share
    best = _best(score)[:SPREAD]
    around = {seq: score[seq] for seq in best}
    for distance, share in NEIGHBOURS:
        for seq in best:
            beside = seq + distance
            around[beside] = around.get(beside, 0.0) + share * score[seq]
    return {seq: around[seq] for seq in islice(filter(is_on_branch, _best(around)), limit)}


def _best(score: Mapping[int, float]) -> list[int]:
    """Return the entries with the best first, of equals the newer. Two sorts without Python in between are quick."""
    return sorted(sorted(score, reverse=True), key=score.__getitem__, reverse=True)


def _weights(counted: Sequence[Mapping[str, int]]) -> dict[str, float]:
    holding = Counter(chain.from_iterable(counted))
    return {word: math.log(1 + (len(counted) + 1) / (count + 0.5)) for word, count in holding.items()}


def _snippet(text: str, hits: Sequence[Word], around: int = 80) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the part of the text with most hits close together, on one line, and where the hits are in it."""
    densest = max(
        hits, key=lambda hit: sum(hit.start <= other.start < hit.start + around for other in hits), default=None
    )
    first = densest.start if densest else 0
    start, end = max(0, first - around), min(len(text), first + 2 * around)
    if start:
        start = text.find(" ", start, first) + 1 or start
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
