"""What words and texts mean, for the recall of conversations: by vectors, where the package with their weights is
installed, and by the words that a conversation is about.
"""

from collections.abc import Sequence

from threadkeep.conversation.message import Message
from threadkeep.turn.lookup import Meaning
from threadkeep_retrieval.embeddings import bundled_embeddings
from threadkeep_retrieval.expansion import candidates, choose
from threadkeep_retrieval.word_vectors import WordVectors


class WordMeaning(Meaning):
    """Knows nothing of likeness without vectors."""

    def __init__(self, vectors: WordVectors | None) -> None:
        self._vectors = vectors

    async def near(self, words: Sequence[str]) -> Sequence[str]:
        return await self._vectors.near(words) if self._vectors else ()

    async def closeness(self, text: str, others: Sequence[str]) -> Sequence[float]:
        return await self._vectors.closeness(text, others) if self._vectors else ()

    def topic_words(self, question: str, history: Sequence[Message], limit: int) -> Sequence[str]:
        return choose(candidates(question, history), {}, limit)


def load_meaning() -> WordMeaning:
    """Return what is known here; nothing is loaded yet."""
    return WordMeaning(WordVectors(embeddings) if (embeddings := bundled_embeddings()) else None)
