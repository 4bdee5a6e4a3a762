"""The contract of embeddings: texts in, vectors out, texts with a like meaning near each other."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from threadkeep.errors import EmbeddingFailed

Vector = Sequence[float]


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
