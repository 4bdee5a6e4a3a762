"""Vectors as an index keeps them, and the embeddings that come with a package."""

import math
import subprocess
import sys

import pytest

from threadkeep.errors import PackageMissing
from threadkeep_retrieval import embeddings as module
from threadkeep_retrieval.embeddings import Vector, WordLlamaEmbeddings, blended, packed, unit
from threadkeep_retrieval.errors import EmbeddingFailed


def test_only_the_direction_counts() -> None:
    assert unit([3.0, 4.0]) == unit([30.0, 40.0]) == [0.6, 0.8]


def test_zeros_have_no_direction() -> None:
    assert unit([0.0, 0.0]) is None
    assert blended([([0.0, 0.0], 1.0)]) is None
    assert blended([([1.0, 0.0], 1.0), ([-1.0, 0.0], 1.0)]) is None


def test_a_weight_turns_the_direction() -> None:
    assert blended([([2.0, 0.0], 1.0), ([0.0, 9.0], 0.75)]) == pytest.approx([0.8, 0.6])
    assert blended([([0.0, 0.0], 1.0), ([0.0, 9.0], 0.5)]) == [0.0, 1.0]


@pytest.mark.parametrize("vector", [[], [math.nan, 1.0], [math.inf]])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(vector)


def test_a_number_takes_four_bytes() -> None:
    assert packed([1.0, 0.0]) == bytes.fromhex("0000803f00000000")


OFFLINE = """
import asyncio, logging, socket, sys

def refuse(*_: object) -> None:
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from threadkeep_retrieval.embeddings import WordLlamaEmbeddings
assert "wordllama" not in sys.modules and "numpy" not in sys.modules
embeddings = WordLlamaEmbeddings()
assert "wordllama" not in sys.modules
vectors = asyncio.run(embeddings.embed(["a", "b"]))
assert [len(vector) for vector in vectors] == [256, 256]
assert (logging.getLogger().level, logging.getLogger().handlers) == (logging.WARNING, [])
"""


def cosine(one: Vector, other: Vector) -> float:
    first, second = unit(one), unit(other)
    assert first is not None
    assert second is not None
    return sum(a * b for a, b in zip(first, second, strict=True))


def test_it_touches_no_network_says_nothing_and_leaves_logging_alone() -> None:
    run = subprocess.run([sys.executable, "-W", "error", "-c", OFFLINE], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


async def test_texts_with_a_like_meaning_are_near_each_other() -> None:
    embeddings = WordLlamaEmbeddings()
    phone, mobile, soup = await embeddings.embed(["a phone with a camera", "mobile telephone", "a recipe for soup"])
    assert cosine(phone, mobile) > embeddings.unrelated + 0.2
    assert cosine(phone, soup) < cosine(phone, mobile) - 0.2
    assert await embeddings.embed_query("mobile telephone") == pytest.approx(mobile)


async def test_a_text_has_the_same_vector_alone_and_among_others() -> None:
    embeddings = WordLlamaEmbeddings()
    texts = ["short", "a somewhat longer text " * 40, "", "東京都", "\x00"]
    together = await embeddings.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert await embeddings.embed_query(text) == pytest.approx(vector, abs=1e-6)
    assert unit(together[2]) is None


async def test_no_texts_have_no_vectors() -> None:
    assert await WordLlamaEmbeddings().embed([]) == []


async def test_it_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    load = module._load

    def noted() -> object:
        loaded.append(load())
        return loaded[-1]

    monkeypatch.setattr(module, "_load", noted)
    embeddings = WordLlamaEmbeddings()
    assert loaded == []
    await embeddings.embed(["a"])
    await embeddings.embed(["b"])
    assert len(loaded) == 1


async def test_a_huge_text_is_looked_at_only_in_part() -> None:
    embeddings = WordLlamaEmbeddings()
    start = "sea " * (module.MAX_CHARACTERS // 4)
    assert await embeddings.embed_query(start + "car " * 1_000_000) == await embeddings.embed_query(start)


async def test_without_the_package_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(PackageMissing, match=r"pip install 'threadkeep\[retrieval\]'"):
        await WordLlamaEmbeddings().embed(["a"])
