"""From a name to the embeddings."""

import sys

import pytest

from threadkeep.errors import ModelRefused, PackageMissing
from threadkeep_retrieval.errors import EmbeddingFailed
from threadkeep_retrieval.loading import load_embeddings

ANYWHERE: dict[str, str] = {}


@pytest.mark.parametrize("name", ["wordllama", "wordllama:l2_supercat_256"])
def test_wordllama_has_one_name_in_the_index(name: str) -> None:
    assert load_embeddings(name).name == "wordllama:l2_supercat_256"


def test_a_name_of_a_provider_is_the_name_in_the_index() -> None:
    assert load_embeddings("ollama:nomic-embed-text", ANYWHERE).name == "ollama:nomic-embed-text"


@pytest.mark.parametrize("name", ["", "nothing", "openai:", ":x"])
def test_a_name_that_is_none_is_explained(name: str) -> None:
    with pytest.raises(EmbeddingFailed, match="write wordllama, or provider:model"):
        load_embeddings(name, ANYWHERE)


def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(EmbeddingFailed, match="nobody"):
        load_embeddings("nobody:x", ANYWHERE)


def test_where_real_models_are_forbidden_so_are_their_embeddings() -> None:
    with pytest.raises(ModelRefused, match="openai may not be called"):
        load_embeddings("openai:text-embedding-3-small", {"THREADKEEP_NO_REAL_MODELS": "1"})


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.embeddings", None)
    with pytest.raises(PackageMissing, match="pip install"):
        load_embeddings("openai:text-embedding-3-small", ANYWHERE)
