"""What can be wrong with an index of documents or with embeddings."""

from threadkeep.errors import RetrievalError


class IndexUnusable(RetrievalError, code="index_unusable"):
    """The index cannot be read or written; what was in it is still there."""


class WrongEmbeddings(RetrievalError, code="wrong_embeddings"):
    """The index was made with other embeddings."""


class EmbeddingFailed(RetrievalError, code="embedding_failed"):
    """The embeddings failed, or gave something that is no vector."""
