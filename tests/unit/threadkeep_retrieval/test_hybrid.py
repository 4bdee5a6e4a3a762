"""The index: what is added is found, by words and by meaning, within filters; only what changes is embedded."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from tests.unit.threadkeep_retrieval.counted_embeddings import CountedEmbeddings
from threadkeep.errors import ContentTooLarge, InvalidLimit, InvalidText, InvalidValue
from threadkeep.turn.lookup import Scalar
from threadkeep_retrieval import checks
from threadkeep_retrieval.base import Document, Filter, Query
from threadkeep_retrieval.embeddings import NoEmbeddings, Vector
from threadkeep_retrieval.errors import EmbeddingFailed, IndexUnusable, WrongEmbeddings
from threadkeep_retrieval.hybrid import Added, HybridIndex
from threadkeep_retrieval.sqlite import reading, writing

PRODUCTS = [
    Document(
        id="a55",
        title="Samsung Galaxy A55",
        text="A phone with 128 GB of memory and a display of 6.6 inches.",
        metadata={"price": 449, "brand": "Samsung", "in_stock": True},
    ),
    Document(
        id="pixel",
        title="Google Pixel 9",
        text="A phone with the best camera, fast and light.",
        metadata={"price": 799.0, "brand": "Google", "in_stock": False},
    ),
    Document(id="shoes", title="Trail shoes", text="Waterproof, for running in the hills.", metadata={"price": 120}),
    Document(
        id="drill", title="Cordless drill", text="18 volts, with two batteries and a case.", metadata={"price": 99}
    ),
    Document(
        id="coffee", title="Espresso machine", text="Makes coffee, with a frother for milk.", metadata={"price": 520}
    ),
]


@pytest.fixture
async def index() -> AsyncIterator[HybridIndex]:
    async with HybridIndex.open() as opened:
        await opened.add(PRODUCTS)
        yield opened


@pytest.fixture
async def counted() -> AsyncIterator[tuple[HybridIndex, CountedEmbeddings]]:
    embeddings = CountedEmbeddings()
    async with HybridIndex.open(None, embeddings) as opened:
        yield opened, embeddings


async def found(index: HybridIndex, text: str, *words: str, where: Sequence[Filter] = (), limit: int = 5) -> list[str]:
    query = Query(text=text, words=words, where=tuple(where))
    return [passage.id for passage in await index.search(query, limit=limit)]


async def test_a_document_is_found_by_its_words(index: HybridIndex) -> None:
    assert (await found(index, "which one has 128 GB?"))[0] == "a55"
    assert (await found(index, "GALAXY"))[0] == "a55"


async def test_a_query_of_stop_words_alone_looks_for_them(index: HybridIndex) -> None:
    await index.add([Document(id="hamlet", text="To be or not to be")])
    assert (await found(index, "to be or not to be"))[0] == "hamlet"


async def test_words_are_found_in_other_forms(index: HybridIndex) -> None:
    assert (await found(index, "cameras"))[0] == "pixel"
    assert (await found(index, "battery"))[0] == "drill"


async def test_a_document_is_found_by_what_it_means(index: HybridIndex) -> None:
    assert (await found(index, "cappuccino"))[0] == "coffee"
    assert (await found(index, "smartphone"))[0] in ("a55", "pixel")


async def test_words_of_the_conversation_add_to_the_question(index: HybridIndex) -> None:
    assert (await found(index, "what does it cost?", "samsung"))[0] == "a55"
    assert (await found(index, "what does it cost?", "shoes", "trail"))[0] == "shoes"


async def test_the_question_counts_more_than_the_words_around_it(index: HybridIndex) -> None:
    assert (await found(index, "shoes", "drill"))[0] == "shoes"


async def test_a_passage_brings_all_that_is_known(index: HybridIndex) -> None:
    best = (await index.search(Query(text="Samsung phone")))[0]
    assert (best.id, best.title, best.text) == (PRODUCTS[0].id, PRODUCTS[0].title, PRODUCTS[0].text)
    assert best.metadata == {"price": 449, "brand": "Samsung", "in_stock": True}
    assert best.metadata["in_stock"] is True
    assert 0 < best.score <= 1


async def test_scores_fall_and_the_limit_is_kept(index: HybridIndex) -> None:
    passages = await index.search(Query(text="phone with a camera"), limit=2)
    assert len(passages) == 2
    assert passages[0].score >= passages[1].score


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ([Filter("price", "<", 500)], {"a55"}),
        ([Filter("price", ">=", 799)], {"pixel"}),
        ([Filter("brand", "=", "Google")], {"pixel"}),
        ([Filter("brand", "!=", "Google")], {"a55"}),
        ([Filter("in_stock", "=", True)], {"a55"}),
        ([Filter("price", "<", 500), Filter("brand", "=", "Google")], set()),
        ([Filter("nothing", "=", 1)], set()),
        ([Filter("price", "<", "500")], set()),
    ],
)
async def test_only_what_the_filters_leave_is_found(index: HybridIndex, where: list[Filter], ids: set[str]) -> None:
    assert set(await found(index, "phone", where=where)) & {"a55", "pixel"} == ids


async def test_filters_come_before_the_ranking(counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, _ = counted
    crowd = [Document(id=f"sea {n}", text="sea " * 9, metadata={"n": n}) for n in range(300)]
    await index.add([*crowd, Document(id="last", text="a car by the sea", metadata={"n": 1000})])
    assert "last" not in await found(index, "sea")
    assert await found(index, "sea", where=[Filter("n", ">", 500)]) == ["last"]
    assert await found(index, "beach", "sea", where=[Filter("n", ">", 500)]) == ["last"]


async def test_nothing_is_found_where_nothing_fits(index: HybridIndex) -> None:
    assert await found(index, "who won the world cup in 1998?") == []
    async with HybridIndex.open() as empty:
        assert await found(empty, "phone") == []


@pytest.mark.parametrize("text", ["", "   ", "?!", "\x00", "🙂"])
async def test_a_query_without_a_word_finds_nothing(index: HybridIndex, text: str) -> None:
    assert await found(index, text) == []


async def test_a_query_of_stop_words_is_still_a_query(index: HybridIndex) -> None:
    assert isinstance(await found(index, "the of and with"), list)


@pytest.mark.parametrize(
    "text", ['"phone', "phone OR", "NEAR(phone", "phone*", "title:phone", "-phone ^a", "phone\x00"]
)
async def test_signs_that_mean_something_to_sqlite_mean_nothing(index: HybridIndex, text: str) -> None:
    assert set((await found(index, text))[:2]) == {"a55", "pixel"}


async def test_a_huge_query_is_answered(index: HybridIndex) -> None:
    assert (await found(index, "espresso machine " + "word " * 500_000, *["shoes"] * 5_000))[0] == "coffee"
    assert await found(index, "x" * 2_000_000) == []


async def test_scripts_without_spaces_are_found() -> None:
    async with HybridIndex.open() as index:
        await index.add([Document(id="ja", text="東京都の天気は晴れです"), Document(id="zh", text="北京的天气很冷")])
        assert (await found(index, "東京"))[0] == "ja"
        assert (await found(index, "天气"))[0] == "zh"


async def test_a_text_with_nul_is_found_whole(index: HybridIndex) -> None:
    await index.add([Document(id="nul", text="before\x00behind")])
    best = (await index.search(Query(text="behind")))[0]
    assert (best.id, best.text) == ("nul", "before\x00behind")
    assert (await index.documents(after="nu"))[0].characters == 13


async def test_a_long_document_is_found_by_its_passages() -> None:
    chapters = [
        f"Chapter {n} is about {word}. " + "It goes on and on. " * 150 for n, word in enumerate(("sea", "tree"))
    ]
    async with HybridIndex.open() as index:
        await index.add([Document(id="book", title="A book", text="\n\n".join(chapters))])
        best = (await index.search(Query(text="tree"), limit=1))[0]
        assert best.id == "book"
        assert "about tree" in best.text
        assert "about sea" not in best.text
        assert (await index.documents())[0].passages > 2


async def test_adding_an_id_again_replaces_all_its_passages(counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, _ = counted
    assert await index.add([Document(id="x", text="sea " * 2_000, metadata={"n": 1})]) == Added(1, 0)
    assert await index.add([Document(id="x", text="car", metadata={"n": 2})]) == Added(1, 0)
    assert await found(index, "sea") == []
    assert await found(index, "car") == ["x"]
    assert await found(index, "car", where=[Filter("n", "=", 1)]) == []
    assert [(each.id, each.passages) for each in await index.documents()] == [("x", 1)]


async def test_what_has_not_changed_is_not_embedded_again(counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, embeddings = counted
    documents = [Document(id="1", text="sea"), Document(id="2", text="car", title="A car")]
    await index.add(documents)
    assert embeddings.asked == ["sea", "A car\ncar"]
    assert await index.add([*documents, Document(id="3", text="tree")]) == Added(1, 2)
    assert embeddings.asked[2:] == ["tree"]


@pytest.mark.parametrize(
    "changed",
    [
        Document(id="1", text="sea", title="new"),
        Document(id="1", text="sea", metadata={"n": 1.5}),
        Document(id="1", text="sea", metadata={"n": True}),
        Document(id="1", text="sea "),
    ],
)
async def test_every_change_counts(changed: Document, counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, _ = counted
    await index.add([Document(id="1", text="sea", metadata={"n": 1})])
    assert await index.add([changed]) == Added(1, 0)
    assert await index.document("1") == changed


async def test_of_two_with_the_same_id_the_last_one_counts(counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, _ = counted
    assert await index.add([Document(id="1", text="sea"), Document(id="1", text="car")]) == Added(1, 0)
    assert (await found(index, "sea"), await found(index, "car")) == ([], ["1"])


async def test_adding_nothing_changes_nothing(counted: tuple[HybridIndex, CountedEmbeddings]) -> None:
    index, embeddings = counted
    assert await index.add([]) == Added(0, 0)
    assert embeddings.asked == []


async def test_what_is_removed_is_gone(index: HybridIndex) -> None:
    assert await index.remove(["a55", "nobody", "a55"]) == 1
    assert "a55" not in await found(index, "Samsung Galaxy A55 phone")
    assert await index.document("a55") is None
    assert len(await index.documents()) == len(PRODUCTS) - 1
    assert await index.rarity(["samsung"]) == {"samsung": 1.0}


async def test_documents_are_listed_by_page(index: HybridIndex) -> None:
    first = await index.documents(limit=2)
    rest = await index.documents(after=first[-1].id)
    assert [each.id for each in (*first, *rest)] == sorted(document.id for document in PRODUCTS)
    assert (first[0].title, first[0].passages, first[0].characters) == (PRODUCTS[0].title, 1, len(PRODUCTS[0].text))


async def test_a_word_is_rarer_the_fewer_passages_hold_it(index: HybridIndex) -> None:
    rarity = await index.rarity(["with", "phone", "Samsung", "phones", "zeppelin", "?"])
    assert 0 <= rarity["with"] < rarity["phone"] < rarity["Samsung"] < rarity["zeppelin"] == 1
    assert rarity["phones"] == rarity["phone"]
    assert rarity["?"] == 0


async def test_an_empty_index_knows_nothing_about_words() -> None:
    async with HybridIndex.open() as empty:
        assert await empty.rarity(["phone"]) == {}


async def test_a_word_of_several_parts_is_as_rare_as_its_rarest(index: HybridIndex) -> None:
    rarity = await index.rarity(["phone-zeppelin", "phone"])
    assert rarity["phone-zeppelin"] == 1
    assert rarity["phone"] < 1


BAD: list[tuple[Document, type[Exception]]] = [
    (Document(id="", text="x"), InvalidValue),
    (Document(id="x" * 513, text="x"), InvalidValue),
    (Document(id="x", text="\ud800"), InvalidText),
    (Document(id="x", title="\ud800", text=""), InvalidText),
    (Document(id="x", text="x", metadata={"n": float("nan")}), InvalidValue),
    (Document(id="x", text="x", metadata={"n": 2**64}), InvalidValue),
    (Document(id="x", text="x", metadata={"n": None}), InvalidValue),  # type: ignore[dict-item]
    (Document(id="x", text="x", metadata={"n": ["y"]}), InvalidValue),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("bad", "error"), BAD)
async def test_one_bad_document_keeps_all_of_an_update_out(
    bad: Document, error: type[Exception], counted: tuple[HybridIndex, CountedEmbeddings]
) -> None:
    index, embeddings = counted
    with pytest.raises(error):
        await index.add([Document(id="good", text="sea"), bad])
    assert await index.documents() == []
    assert embeddings.asked == []


async def test_a_document_beyond_the_limit_is_refused(index: HybridIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_CHARACTERS", 10)
    with pytest.raises(ContentTooLarge, match="at most 10"):
        await index.add([Document(id="x", text="x" * 11)])


@pytest.mark.parametrize("limit", [0, -1, 201, 1.5])
async def test_a_limit_that_makes_no_sense_is_refused(index: HybridIndex, limit: int) -> None:
    with pytest.raises(InvalidLimit):
        await index.search(Query(text="phone"), limit=limit)


@pytest.mark.parametrize("value", [float("inf"), 2**64, None])
async def test_a_filter_that_makes_no_sense_is_refused(index: HybridIndex, value: Scalar) -> None:
    with pytest.raises(InvalidValue):
        await found(index, "phone", where=[Filter("price", "<", value)])


async def test_a_query_that_is_no_text_is_refused(index: HybridIndex) -> None:
    with pytest.raises(InvalidText):
        await index.search(Query(text="\ud800"))


async def test_vectors_of_another_length_are_refused_and_nothing_is_written() -> None:
    class Growing(CountedEmbeddings):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            return [[1.0] * len(text) for text in texts]

    async with HybridIndex.open(None, Growing()) as index:
        await index.add([Document(id="1", text="abc")])
        with pytest.raises(WrongEmbeddings, match="have 3 numbers, this one has 4"):
            await index.add([Document(id="2", text="abc!"), Document(id="1", text="xyz")])
        with pytest.raises(WrongEmbeddings):
            await found(index, "abcd")
        assert [each.id for each in await index.documents()] == ["1"]
        assert await index.document("1") == Document(id="1", text="abc")


async def test_embeddings_that_fail_leave_the_index_as_it_was() -> None:
    async with HybridIndex.open(None, NoEmbeddings("far away")) as index:
        with pytest.raises(EmbeddingFailed, match="far away"):
            await index.add([Document(id="1", text="sea")])
        assert await index.documents() == []


async def test_a_document_whose_vector_says_nothing_is_found_by_its_words(
    counted: tuple[HybridIndex, CountedEmbeddings],
) -> None:
    index, _ = counted
    await index.add([Document(id="1", text="house"), Document(id="2", text="sea"), Document(id="empty", text="")])
    assert await found(index, "house") == ["1"]


async def test_the_event_loop_never_waits_for_the_file(index: HybridIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()
    for module, name in ((reading, "search"), (reading, "rarity"), (writing, "write"), (writing, "remove")):
        function = getattr(module, name)

        def noted(*arguments: object, function: Callable[..., object] = function) -> object:
            threads.add(threading.current_thread().name)
            return function(*arguments)

        monkeypatch.setattr(module, name, noted)
    await found(index, "phone")
    await index.rarity(["phone"])
    await index.add([Document(id="new", text="sea")])
    await index.remove(["new"])
    assert threads == {"threadkeep-index_0"}


async def test_searches_and_updates_at_the_same_time_do_not_meet(index: HybridIndex) -> None:
    adding = [index.add([Document(id=f"new {n}", text=f"sea {n}")]) for n in range(20)]
    searching = [found(index, "phone") for _ in range(20)]
    await asyncio.gather(*adding, *searching)
    assert len(await index.documents()) == len(PRODUCTS) + 20


async def test_a_closed_index_says_so() -> None:
    index = HybridIndex.open()
    await index.close()
    await index.close()
    with pytest.raises(IndexUnusable, match="closed"):
        await found(index, "phone")
