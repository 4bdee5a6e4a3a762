"""A retriever for tests: it finds what it is told to find, and fails if it is told to."""

from collections.abc import Iterable, Mapping

from threadkeep.errors import RetrievalError
from threadkeep.turn.lookup import Passage
from threadkeep_retrieval.base import Query, Retriever


class StrictRetriever(Retriever):
    """Knows how rare some words are (all others are nowhere), and which passages hold a word."""

    def __init__(self, rarity: Mapping[str, float], passages: Mapping[str, str] | None = None) -> None:
        self.queries: list[Query] = []
        self.fails = False
        self._rarity = rarity
        self._passages = passages or {}

    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        if self.fails:
            raise RetrievalError
        self.queries.append(query)
        words = {*query.text.lower().split(), *(word.lower() for word in query.words)}
        found = [Passage(id=id, text=word) for word, id in self._passages.items() if word in words]
        return found[:limit]

    async def rarity(self, words: Iterable[str]) -> Mapping[str, float]:
        if self.fails:
            raise RetrievalError
        return {word: self._rarity.get(word.lower(), 1.0) for word in words}
