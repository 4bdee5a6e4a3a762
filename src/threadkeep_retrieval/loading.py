"""From a name to the embeddings: `wordllama`, or `provider:model` for any provider of LangChain.

Vendors' packages are imported when a name needs them. Where real models are forbidden, their embeddings are too.
"""

import os
from collections.abc import Mapping

from threadkeep.errors import PackageMissing
from threadkeep.llm.loading import check_allowed
from threadkeep.llm.providers import langchain_line
from threadkeep.rings import EMBEDDINGS, load
from threadkeep_retrieval.embeddings import NAME, Embeddings, WordLlamaEmbeddings
from threadkeep_retrieval.errors import EmbeddingFailed


def load_embeddings(name: str, environment: Mapping[str, str] | None = None) -> Embeddings:
    """Return the embeddings of that name, which is also the name that an index remembers; nothing is called yet."""
    if name in ("wordllama", NAME):
        return WordLlamaEmbeddings()
    provider, _, model = name.partition(":")
    if not provider or not model:
        raise EmbeddingFailed(
            f"There are no embeddings {name!r}: write wordllama, or provider:model such as ollama:nomic-embed-text."
        )
    check_allowed(provider, os.environ if environment is None else environment)
    return _from_ring(name, provider)


def _from_ring(name: str, provider: str) -> Embeddings:
    try:
        found: Embeddings = load(EMBEDDINGS, "langchain", name)(name)
        return found
    except PackageMissing:
        raise PackageMissing(f"{name} needs a package: {langchain_line(provider)}") from None
