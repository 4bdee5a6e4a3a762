"""What word vectors tell: words that are near others, and how near texts are to a question."""

import tracemalloc

import pytest

from threadkeep_retrieval import word_vectors as module
from threadkeep_retrieval.embeddings import WordLlamaEmbeddings, unit
from threadkeep_retrieval.word_vectors import WordVectors

TEXTS = ["a ship on the sea", "Tax law,  and a (small) fee!", "boats", ""]


async def test_closeness_is_the_cosine_of_the_embeddings() -> None:
    embeddings = WordLlamaEmbeddings()
    asked, *vectors = [unit(vector) or () for vector in await embeddings.embed(["a boat", *TEXTS[:3]])]
    expected = [sum(a * b for a, b in zip(asked, vector, strict=True)) for vector in vectors]
    near = await WordVectors(embeddings).closeness("a boat", TEXTS)
    assert near[:3] == pytest.approx(expected, abs=0.02)
    assert near[3] < near[0]


async def test_closeness_stays_the_same_when_words_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = WordVectors(WordLlamaEmbeddings())
    before = await vectors.closeness("a boat", TEXTS)
    monkeypatch.setattr(module, "MOST_WORDS", 3)
    await vectors.closeness("other words", ["than these"])
    assert await vectors.closeness("a boat", TEXTS) == pytest.approx(before, abs=1e-6)


async def test_letters_without_a_space_take_no_more_memory_than_a_page_of_words() -> None:
    vectors = WordVectors(WordLlamaEmbeddings())
    await vectors.closeness("a boat", TEXTS)
    tracemalloc.start()
    try:
        for start in "xyz":
            await vectors.closeness(start + "qjzk" * 225_000, [*TEXTS, "qjzk" * 225_000])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000
    assert sum(map(len, vectors._places)) < 1_000


async def test_words_that_mean_nearly_the_same_are_near() -> None:
    vectors = WordVectors(WordLlamaEmbeddings())
    assert "infant" in await vectors.near(["baby"])
    assert {"wife", "cars"} <= set(await vectors.near(["marriage", "vehicle"]))


async def test_nothing_is_near_to_short_words_and_numbers() -> None:
    assert await WordVectors(WordLlamaEmbeddings()).near(["the", "2023", ""]) == ()
