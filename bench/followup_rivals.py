"""What follow-ups are measured against: simpler ways to make a query, and indexes with one side only."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bench.keyword_list import mentions_reference
from threadkeep.conversation.message import Message, Role
from threadkeep.text.words import content_words
from threadkeep.turn.lookup import Passage, Rewrite
from threadkeep_retrieval.base import Document, Query, Retriever, Rewriter
from threadkeep_retrieval.embeddings import Embeddings, Vector, WordLlamaEmbeddings, blended
from threadkeep_retrieval.hybrid import WORDS_SHARE, HybridIndex

RAREST = 6
MOST = 64

Matrix = npt.NDArray[np.float64]


class LastTurn(Rewriter):
    """The question as it is."""

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        return Rewrite(question=question, text=question)


class AllTurns(Rewriter):
    """Everything that the person said, joined."""

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        return Rewrite(question=question, text=" ".join((*_asked(history), question)))


class RarestWords(Rewriter):
    """The question and the rarest words of the person's earlier ones, always."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        own = set(content_words(question, MOST))
        said = [word for word in content_words(" ".join(_asked(history)), MOST) if word not in own]
        rarity = await self._retriever.rarity(said)
        known = sorted((word for word in said if rarity[word] < 1.0), key=lambda word: -rarity[word])
        return Rewrite(question=question, text=question, words=tuple(known[:RAREST]), by="words")


class KeywordGate(RarestWords):
    """The same, only where the list of R-E6 sees a follow-up."""

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        if mentions_reference(question):
            return await super().rewrite(question, history)
        return Rewrite(question=question, text=question)


class WithoutDirection(Embeddings):
    """Vectors of zeros: what is left is full text."""

    @property
    def name(self) -> str:
        return "without direction"

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [[0.0] for _ in texts]


async def words_only(documents: Iterable[Document]) -> HybridIndex:
    """Return an index of ours that has full text only."""
    index = HybridIndex.open(embeddings=WithoutDirection())
    await index.add(documents)
    return index


class VectorsOnly(Retriever):
    """Vectors alone, compared in memory. How rare words are is asked of the index that has them."""

    def __init__(self, documents: Sequence[Document], index: Retriever) -> None:
        self._documents = documents
        self._index = index
        self._embeddings = WordLlamaEmbeddings()
        self._vectors: Matrix = np.zeros((0, 0))

    async def load(self) -> None:
        """Embed the documents."""
        texts = [f"{document.title}\n{document.text}".strip() for document in self._documents]
        self._vectors = _unit(np.array(await self._embeddings.embed(texts)))

    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        parts = [(await self._embeddings.embed_query(query.text), 1.0)]
        if query.words:
            parts.append((await self._embeddings.embed_query(" ".join(query.words)), WORDS_SHARE))
        wanted = blended(parts)
        if wanted is None:
            return []
        best = np.argsort(-(self._vectors @ np.array(wanted)))[:limit]
        return [Passage(id=self._documents[at].id, text=self._documents[at].text) for at in best]

    async def rarity(self, words: Iterable[str]) -> Mapping[str, float]:
        return await self._index.rarity(words)


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9))


def _asked(history: Sequence[Message]) -> list[str]:
    return [message.content for message in history if message.role is Role.USER]
