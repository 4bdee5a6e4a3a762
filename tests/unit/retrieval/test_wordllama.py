"""The embeddings that come along: real ones, offline, silent, loaded once."""

import subprocess
import sys

import pytest

from threadkeep.errors import PackageMissing
from threadkeep.retrieval import wordllama
from threadkeep.retrieval.embeddings import Vector
from threadkeep.retrieval.embeddings import unit
from threadkeep.retrieval.embeddings import WordLlamaEmbeddings

OFFLINE = """
import asyncio, logging, socket, sys

def refuse(*_: object) -> None:
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from threadkeep.retrieval.embeddings import WordLlamaEmbeddings
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
    load = wordllama._load

    def noted() -> object:
        loaded.append(load())
        return loaded[-1]

    monkeypatch.setattr(wordllama, "_load", noted)
    embeddings = WordLlamaEmbeddings()
    assert loaded == []
    await embeddings.embed(["a"])
    await embeddings.embed(["b"])
    assert len(loaded) == 1


async def test_a_huge_text_is_looked_at_only_in_part() -> None:
    embeddings = WordLlamaEmbeddings()
    start = "sea " * (wordllama.MAX_CHARACTERS // 4)
    assert await embeddings.embed_query(start + "car " * 1_000_000) == await embeddings.embed_query(start)


async def test_without_the_package_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "find_spec", lambda _name: None)
    with pytest.raises(PackageMissing, match=r"pip install 'threadkeep\[retrieval\]'"):
        await WordLlamaEmbeddings().embed(["a"])
