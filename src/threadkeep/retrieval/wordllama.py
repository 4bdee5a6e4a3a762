"""Embeddings that need no network and no server: `wordllama`, whose package carries its weights (16 MB).

A text is the average of its words, so it takes a tenth of a millisecond; what it lacks in depth, the full-text side of
an index makes up for. The package is an extra, and loaded with the first text.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from threadkeep.errors import PackageMissing
from threadkeep.retrieval.embeddings import Embeddings, Vector

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference

NAME = "wordllama:l2_supercat_256"
MAX_CHARACTERS = 20_000
"""How much of a text is looked at: an average changes little after that, and memory grows with the longest text."""
BATCH = 16


class WordLlamaEmbeddings(Embeddings):
    """Vectors of 256 numbers, made on this machine."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._model: WordLlamaInference | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def unrelated(self) -> float:
        return 0.1

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await asyncio.to_thread(self._embed, [text[:MAX_CHARACTERS] for text in texts])

    def _embed(self, texts: list[str]) -> list[Vector]:
        with self._loading:
            self._model = self._model or _load()
        vectors: list[Vector] = self._model.embed(texts, batch_size=BATCH).tolist()
        return vectors


def _load() -> "WordLlamaInference":
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise PackageMissing("Embeddings without a server need a package: pip install 'threadkeep[retrieval]'")
    with _logging_left_alone():
        from wordllama import WordLlama  # noqa: PLC0415 - an optional package, slow to import
    return WordLlama.load(cache_dir=Path(spec.origin).parent, disable_download=True)


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Keep the package from setting up logging for the whole process, as it does when it is imported.

    Where there is a handler already, it does nothing; so there is one for that moment.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
