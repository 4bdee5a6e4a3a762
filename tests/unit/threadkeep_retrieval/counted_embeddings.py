"""Embeddings that remember what they were asked for: each known word is a direction of its own."""

from collections.abc import Sequence

from threadkeep_retrieval.embeddings import Embeddings, Vector

WORDS = ("sea", "car", "tree")


class CountedEmbeddings(Embeddings):
    """Vectors of as many numbers as there are words; a text without any of them is all zeros."""

    def __init__(self, name: str = "counted", words: Sequence[str] = WORDS) -> None:
        self._name = name
        self._words = words
        self.asked: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return [[float(text.count(word)) for word in self._words] for text in texts]
