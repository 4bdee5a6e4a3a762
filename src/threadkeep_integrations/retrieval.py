"""LangChain's embeddings, retrievers and vector stores as ours. Its types stay in this file.

Filters are a matter of each vector store, so they are applied to what it returns, unless it is told how the store wants
them; an index of ours filters before it ranks.
"""

import hashlib
from collections.abc import Callable, Sequence

from langchain_core.documents import Document as TheirDocument
from langchain_core.embeddings import Embeddings as TheirEmbeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from threadkeep.errors import PackageMissing, RetrievalError
from threadkeep.turn.lookup import Passage
from threadkeep_retrieval.base import Filter, Query, Retriever, fits
from threadkeep_retrieval.checks import check_query
from threadkeep_retrieval.embeddings import Embeddings, Vector
from threadkeep_retrieval.errors import EmbeddingFailed

BATCH = 64
SEARCHED_FOR_FILTERS = 10
"""How many times more passages are asked for where filters are applied afterwards."""


class LangChainEmbeddings(Embeddings):
    """Any embeddings of LangChain's. The name must differ between models whose vectors cannot be compared."""

    def __init__(self, embeddings: TheirEmbeddings, name: str) -> None:
        self._embeddings = embeddings
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            vectors += await self._embed(list(texts[start : start + BATCH]))
        return vectors

    async def _embed(self, texts: list[str]) -> Sequence[Vector]:
        try:
            return await self._embeddings.aembed_documents(texts)
        except Exception as error:
            raise EmbeddingFailed(_blame(self._name, error)) from error

    async def embed_query(self, text: str) -> Vector:
        try:
            return await self._embeddings.aembed_query(text)
        except Exception as error:
            raise EmbeddingFailed(_blame(self._name, error)) from error


def load_embeddings(name: str) -> LangChainEmbeddings:
    """Return the embeddings of a provider, `provider:model`; PackageMissing if its package is not installed."""
    try:
        from langchain.embeddings import init_embeddings

        return LangChainEmbeddings(init_embeddings(name), name)
    except ImportError as error:
        raise PackageMissing(str(error)) from None
    except Exception as error:
        raise EmbeddingFailed(f"{name} cannot be used: {' '.join(str(error).split())[:300]}") from None


class LangChainRetriever(Retriever):
    """Any retriever of LangChain's. How many passages it finds is its own setting; what does not fit is left out."""

    def __init__(self, retriever: BaseRetriever) -> None:
        self._retriever = retriever

    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        check_query(query, limit)
        try:
            found = await self._retriever.ainvoke(_text(query))
        except Exception as error:
            raise RetrievalError(_blame(type(self._retriever).__name__, error)) from error
        return _passages(found, query.where, limit)


class LangChainVectorStore(Retriever):
    """Any vector store of LangChain's. `as_filter` turns our filters into what the store takes as `filter`."""

    def __init__(self, store: VectorStore, as_filter: Callable[[Sequence[Filter]], object] | None = None) -> None:
        self._store = store
        self._as_filter = as_filter

    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        check_query(query, limit)
        options: dict[str, object] = {}
        if query.where and self._as_filter:
            options["filter"] = self._as_filter(query.where)
        count = limit * SEARCHED_FOR_FILTERS if query.where and not self._as_filter else limit
        try:
            found = await self._store.asimilarity_search(_text(query), k=count, **options)
        except Exception as error:
            raise RetrievalError(_blame(type(self._store).__name__, error)) from error
        return _passages(found, query.where, limit)


def _text(query: Query) -> str:
    return " ".join((query.text, *query.words))


def _passages(found: Sequence[TheirDocument], where: Sequence[Filter], limit: int) -> list[Passage]:
    """Return what fits. Their scores mean something else in each store, so ours say the place only."""
    fitting = [each for each in found if fits(each.metadata, where)]
    return [_passage(each, 1 / place) for place, each in enumerate(fitting[:limit], 1)]


def _passage(found: TheirDocument, score: float) -> Passage:
    metadata = {name: value for name, value in found.metadata.items() if isinstance(value, str | int | float)}
    text = found.page_content
    id = found.id or metadata.get("id") or metadata.get("source") or hashlib.blake2b(text.encode()).hexdigest()[:16]
    return Passage(id=str(id), text=text, title=str(metadata.get("title", "")), metadata=metadata, score=score)


def _blame(name: str, error: Exception) -> str:
    return f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}."
