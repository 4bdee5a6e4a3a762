"""Meaning by single words: which words are near others, and how near texts are to a question.

A text is the average of the tokens of its words, as `WordLlamaEmbeddings` make it; here the words are kept, so that
hundreds of texts of a conversation cost a few milliseconds.
"""

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import Any

from threadkeep.text.stop_words import STOP_WORDS
from threadkeep.text.words import MAX_WORD, fold
from threadkeep_retrieval.embeddings import MAX_CHARACTERS, WordLlamaEmbeddings

NEAR = 8
NEAREST = 0.4
"""How many words are taken for near to one, and from which cosine on."""
SHORTEST = 4
"""How many letters a word has at least that others are near to: shorter ones are mostly parts of words to the model."""
MOST_WORDS = 20_000
"""How many words are kept, 20 MB of them."""


class WordVectors:
    """What the vectors of words tell. It may be asked from several threads."""

    def __init__(self, embeddings: WordLlamaEmbeddings) -> None:
        self._embeddings = embeddings
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        self._vectors: Any = None
        self._near = lru_cache(maxsize=4096)(self._nearest)

    async def near(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return other words that mean something like one of these; inflected ones are words of their own."""
        long = [word for word in words if len(word) >= SHORTEST and word.isalpha()]
        return await asyncio.to_thread(self._near_all, long) if long else ()

    async def closeness(self, text: str, others: Sequence[str]) -> list[float]:
        """Return how near each of some texts is to one of them all, from -1 to 1; a blank one is near to nothing."""
        return await asyncio.to_thread(self._closeness, [text, *others])

    def _near_all(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(near for word in words for near in self._near(word) if near not in words))

    def _nearest(self, word: str) -> tuple[str, ...]:
        names, vectors = self._vocabulary
        near = vectors @ self._embeddings.model.embed([word], norm=True)[0]
        best = sorted(near.argpartition(-NEAR)[-NEAR:].tolist(), key=near.__getitem__, reverse=True)
        return tuple(names[place] for place in best if near[place] >= NEAREST)

    @cached_property
    def _vocabulary(self) -> tuple[list[str], Any]:
        """The tokens that are whole words, as an index spells them, and their vectors, of length 1."""
        model = self._embeddings.model
        tokens = ((token[1:], place) for token, place in model.tokenizer.get_vocab().items() if token[0] == "\u2581")
        # One spelling of each word: a capital is another token with nearly the same vector.
        known = {token: place for token, place in tokens if len(token) >= SHORTEST and fold(token) == [token]}
        names = [word for word in known if word.isalpha() and word not in STOP_WORDS]
        return names, _of_length_1(model.embedding[[known[name] for name in names]])

    def _closeness(self, texts: list[str]) -> list[float]:
        with self._lock:
            # Neither a long text nor a long word, such as 900,000 letters without a space, takes memory as it likes.
            spoken = [[word[:MAX_WORD] for word in text[:MAX_CHARACTERS].split()] or ["-"] for text in texts]
            self._keep(dict.fromkeys(chain.from_iterable(spoken)))
            places = [self._places[word] for word in chain.from_iterable(spoken)]
            starts = [0, *accumulate(map(len, spoken[:-1]))]
            vectors = _of_length_1(_sums(self._vectors[places], starts))
        found: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return found

    def _keep(self, words: dict[str, None]) -> None:
        """Have the vectors of some words at hand: of each the sum of its tokens."""
        if len(self._places) + len(words) > MOST_WORDS:
            self._places.clear()
        new = [word for word in words if word not in self._places]
        if not new:
            return
        model, np = self._embeddings.model, _numpy()
        tokens = [each.ids for each in model.tokenizer.encode_batch(new, add_special_tokens=False)]
        tokens = [[place for place in each if place] or [0] for each in tokens]
        sums = _sums(model.embedding[list(chain.from_iterable(tokens))], [0, *accumulate(map(len, tokens[:-1]))])
        self._vectors = np.concatenate((self._vectors, sums)) if self._places else sums
        self._places |= {word: place for place, word in enumerate(new, len(self._places))}


def _numpy() -> Any:
    import numpy  # noqa: PLC0415 - comes with the optional package

    return numpy


def _sums(rows: Any, starts: list[int]) -> Any:
    return _numpy().add.reduceat(rows, starts, axis=0)


def _of_length_1(vectors: Any) -> Any:
    np = _numpy()
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
