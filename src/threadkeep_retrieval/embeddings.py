"""Embeddings: texts in, vectors out, texts with a like meaning near each other.

The contract, what an index does with vectors, and the embeddings that need no network: `wordllama`, whose package (an
extra) carries its weights of 16 MB.
"""

import asyncio
import logging
import math
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from threadkeep.errors import PackageMissing
from threadkeep_retrieval.errors import EmbeddingFailed

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference

Vector = Sequence[float]
NAME = "wordllama:l2_supercat_256"
MAX_CHARACTERS = 20_000
"""How much of a text is looked at: an average changes little after that, and memory grows with the longest text."""
BATCH = 16


class Embeddings(ABC):
    """Turns texts into vectors of one length. Vectors of different names cannot be compared with each other."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What made the vectors; an index remembers it and refuses another."""

    @property
    def unrelated(self) -> float:
        """The cosine up to which two texts have nothing to do with each other; it differs from model to model."""
        return 0.0

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order, without blocking the event loop. Raises EmbeddingFailed.

        A text without meaning, such as an empty one, may have a vector of zeros; it is then found by its words only.
        """

    async def embed_query(self, text: str) -> Vector:
        """Return the vector that finds the texts which answer this one."""
        return (await self.embed([text]))[0]


class NoEmbeddings(Embeddings):
    """Stands for embeddings that are not at hand: enough to list and remove, where nothing is embedded."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbeddingFailed(f"The embeddings {self._name} are not at hand.")


def unit(vector: Vector) -> Vector | None:
    """Return the vector with length 1, None if it has no direction. Raises EmbeddingFailed for what is no vector."""
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not math.isfinite(length) or not vector:
        raise EmbeddingFailed
    return [number / length for number in vector] if length else None


def blended(vectors: Sequence[tuple[Vector, float]]) -> Vector | None:
    """Return the direction between some, each with its weight; None if there is none."""
    weighted = [[number * weight for number in each] for vector, weight in vectors if (each := unit(vector))]
    return unit([sum(numbers) for numbers in zip(*weighted, strict=True)]) if weighted else None


def packed(vector: Vector) -> bytes:
    """Return the vector as sqlite-vec reads it, in 4 bytes a number."""
    return array("f", vector).tobytes()


class WordLlamaEmbeddings(Embeddings):
    """Vectors of 256 numbers, made on this machine in a tenth of a millisecond: a text is the average of its words.

    The package is loaded with the first text.
    """

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
        vectors: list[Vector] = self.model.embed(texts, batch_size=BATCH).tolist()
        return vectors

    @property
    def model(self) -> "WordLlamaInference":
        """The model itself, loaded with the first use."""
        with self._loading:
            self._model = self._model or _load()
        return self._model


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
