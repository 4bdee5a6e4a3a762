"""LangChain's embeddings, retrievers and vector stores in the place of ours."""

from collections.abc import Sequence

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as TheirDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from threadkeep.errors import InvalidLimit, RetrievalError
from threadkeep_integrations.retrieval import LangChainEmbeddings, LangChainRetriever, LangChainVectorStore
from threadkeep_retrieval.base import Document, Filter, Query, fits
from threadkeep_retrieval.errors import EmbeddingFailed
from threadkeep_retrieval.hybrid import HybridIndex

PHONES = [
    TheirDocument(id="a55", page_content="Samsung phone", metadata={"title": "Galaxy", "price": 449, "tags": ["x"]}),
    TheirDocument(page_content="Google phone", metadata={"source": "pixel.txt", "price": 799}),
    TheirDocument(page_content="Running shoes", metadata={"price": 120}),
]


class Broken(DeterministicFakeEmbedding):
    """A provider that is away."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route\nto host")

    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("no route\nto host")


class Short(DeterministicFakeEmbedding):
    """A provider that forgets a text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return super().embed_documents(texts)[1:]


class Listing(BaseRetriever):
    """Finds what it holds, and remembers what it was asked for."""

    found: list[TheirDocument]
    asked: list[str] = []  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[TheirDocument]:
        self.asked.append(query)
        if query == "fail":
            raise ConnectionError("no route")
        return self.found


async def test_their_embeddings_make_an_index() -> None:
    embeddings = LangChainEmbeddings(DeterministicFakeEmbedding(size=12), "fake:12")
    async with HybridIndex.open(None, embeddings) as index:
        await index.add(Document(id=str(n), text=f"sea {n}") for n in range(100))
        assert [passage.id for passage in await index.search(Query(text="sea 42"), limit=1)] == ["42"]


async def test_a_query_and_a_text_are_embedded_by_their_own_ways() -> None:
    theirs = DeterministicFakeEmbedding(size=4)
    ours = LangChainEmbeddings(theirs, "fake:4")
    assert await ours.embed(["a", "b"]) == theirs.embed_documents(["a", "b"])
    assert await ours.embed_query("a") == theirs.embed_query("a")
    assert await ours.embed([]) == []


async def test_a_provider_that_fails_is_named_in_one_line() -> None:
    embeddings = LangChainEmbeddings(Broken(size=4), "fake:broken")
    for call in (embeddings.embed(["a"]), embeddings.embed_query("a")):
        with pytest.raises(EmbeddingFailed, match="fake:broken failed: ConnectionError: no route to host"):
            await call


async def test_vectors_that_are_missing_are_noticed() -> None:
    async with HybridIndex.open(None, LangChainEmbeddings(Short(size=4), "fake:short")) as index:
        with pytest.raises(EmbeddingFailed, match="fake:short made 1 vectors of 2 texts"):
            await index.add([Document(id="1", text="a"), Document(id="2", text="b")])


async def test_their_retriever_is_asked_for_text_and_words() -> None:
    theirs = Listing(found=PHONES)
    passages = await LangChainRetriever(theirs).search(Query(text="what about it?", words=("phone",)), limit=2)
    assert theirs.asked == ["what about it? phone"]
    assert [passage.id for passage in passages] == ["a55", "pixel.txt"]
    assert (passages[0].title, passages[0].text, passages[0].metadata) == (
        "Galaxy",
        "Samsung phone",
        {"title": "Galaxy", "price": 449},
    )
    assert passages[0].score > passages[1].score


async def test_what_does_not_fit_is_left_out() -> None:
    query = Query(text="phone", where=(Filter("price", "<", 500),))
    passages = await LangChainRetriever(Listing(found=PHONES)).search(query)
    assert [passage.text for passage in passages] == ["Samsung phone", "Running shoes"]
    assert len({passage.id for passage in passages}) == 2


async def test_a_retriever_that_fails_is_named() -> None:
    with pytest.raises(RetrievalError, match="Listing failed: ConnectionError: no route"):
        await LangChainRetriever(Listing(found=[])).search(Query(text="fail"))


async def test_their_vector_store_is_searched() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(PHONES)
    passages = await LangChainVectorStore(store).search(Query(text="Samsung phone"), limit=2)
    assert passages[0].id == "a55"
    assert len(passages) == 2
    with pytest.raises(InvalidLimit):
        await LangChainVectorStore(store).search(Query(text="x"), limit=0)


async def test_filters_reach_their_vector_store_in_its_own_way() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([TheirDocument(page_content=f"sea {n}", metadata={"n": n}) for n in range(100)])

    def as_filter(where: Sequence[Filter]) -> object:
        return lambda document: fits(document.metadata, where)

    query = Query(text="sea 3", where=(Filter("n", ">=", 95),))
    assert len(await LangChainVectorStore(store, as_filter).search(query)) == 5
    assert all(passage.metadata["n"] in range(95, 100) for passage in await LangChainVectorStore(store).search(query))


async def test_a_vector_store_that_fails_is_named() -> None:
    with pytest.raises(RetrievalError, match="InMemoryVectorStore failed: ConnectionError"):
        await LangChainVectorStore(InMemoryVectorStore(Broken(size=4))).search(Query(text="x"))
