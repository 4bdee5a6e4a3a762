"""An index of documents in one file, or in memory: full text and vectors together, one ranking.

Vectors are compared one by one after filtering, which is exact, and quick to some 100,000 passages. Reading and writing
each have a thread of their own, so that neither holds up the event loop or the other; a change is there whole or not
at all, for other processes too.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.text.excerpt import split
from threadkeep.text.stop_words import language_of
from threadkeep.text.words import MAX_QUERY_CHARACTERS, content_words, query_terms, words_in_order
from threadkeep.turn.lookup import Passage
from threadkeep_retrieval.base import Document, Query, Retriever
from threadkeep_retrieval.checks import check_document, check_query
from threadkeep_retrieval.embeddings import Embeddings, Vector, WordLlamaEmbeddings, blended
from threadkeep_retrieval.errors import EmbeddingFailed, IndexUnusable
from threadkeep_retrieval.sqlite import reading, writing
from threadkeep_retrieval.sqlite.file import made_with, open_file, transaction, translating_sqlite_errors
from threadkeep_retrieval.sqlite.reading import Listed
from threadkeep_retrieval.sqlite.writing import Prepared

T = TypeVar("T")

MOST_TERMS = 64
"""How many different words of a query are looked for; the rest of a pasted page adds nothing but time."""
WORDS_SHARE = 0.7
"""How much the words of the conversation turn the vector of a question."""


class Added(NamedTuple):
    """How many documents an update wrote, and how many were there already, unchanged."""

    written: int
    unchanged: int


class HybridIndex(Retriever):
    """Documents in one file. `open` makes one; `close` when it is no longer needed."""

    def __init__(self, reader: SqliteDatabase, writer: SqliteDatabase, embeddings: Embeddings) -> None:
        self._reader = _Connection(reader)
        self._writer = self._reader if writer is reader else _Connection(writer)
        self._embeddings = embeddings

    @classmethod
    def open(cls, path: Path | str | None = None, embeddings: Embeddings | None = None) -> Self:
        """Open the file and create it if it is missing; without a path, an index in memory.

        Without other embeddings, those of `wordllama` are used, which need no network. An index can be opened only with
        the embeddings that it was made with.
        """
        embeddings = embeddings or WordLlamaEmbeddings()
        place = None if path is None else Path(path)
        writer = open_file(place, embeddings.name)
        return cls(writer if place is None else open_file(place, embeddings.name), writer, embeddings)

    @staticmethod
    def made_with(path: Path | str) -> str | None:
        """Return the name of the embeddings of an index; None if there is no file. Nothing is changed or created."""
        return made_with(Path(path))

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        await self._reader.close()
        await self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def add(self, documents: Iterable[Document]) -> Added:
        """Write documents, all of them or none; an id that is there already is replaced with all its passages.

        Documents that have not changed are not embedded again. Of two with the same id the last one counts.
        """
        given = {document.id: check_document(document) for document in documents}
        known = await self._reader.do(lambda database: writing.digests(database, given))
        changed = [document for id, document in given.items() if known.get(id) != writing.digest(document)]
        prepared = await self._prepare(changed)
        if prepared:
            await self._writer.do(lambda database: _write(database, prepared))
        return Added(len(prepared), len(given) - len(prepared))

    async def remove(self, ids: Iterable[str]) -> int:
        """Take documents out, all at once; return how many were there."""
        wanted = list(ids)
        return await self._writer.do(lambda database: _remove(database, wanted))

    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        check_query(query, limit)
        own, around = _terms(query.text), _terms(" ".join(query.words))
        if not own and not around:
            return []
        language = language_of(words_in_order(query.text[:MAX_QUERY_CHARACTERS]), query.words)
        vector, unrelated = await self._direction(query), self._embeddings.unrelated
        wanted = reading.Wanted(own, around, language, vector, unrelated, query.where)
        return await self._reader.do(lambda database: _search(database, wanted, limit))

    async def rarity(self, words: Iterable[str]) -> Mapping[str, float]:
        wanted = list(words)
        return await self._reader.do(lambda database: reading.rarity(database, wanted))

    async def document(self, id: str) -> Document | None:
        """Return a document as it was added, or None."""
        return await self._reader.do(lambda database: reading.document(database, id))

    async def documents(self, *, after: str = "", limit: int = 1000) -> list[Listed]:
        """Return a page of what is in the index, by id, beginning behind an id."""
        return await self._reader.do(lambda database: reading.listed(database, after, limit))

    async def _prepare(self, documents: Sequence[Document]) -> list[Prepared]:
        stretches = [split(document.text) for document in documents]
        texts = [
            f"{document.title}\n{document.text[start:stop]}".strip()
            for document, parts in zip(documents, stretches, strict=True)
            for start, stop in parts
        ]
        vectors = await self._embeddings.embed(texts) if texts else []
        if len(vectors) != len(texts):
            raise EmbeddingFailed(f"{self._embeddings.name} made {len(vectors)} vectors of {len(texts)} texts.")
        rest = iter(vectors)
        return [
            Prepared(document, parts, [next(rest) for _ in parts])
            for document, parts in zip(documents, stretches, strict=True)
        ]

    async def _direction(self, query: Query) -> Vector | None:
        """Return where to look: at the text, turned a little towards the words of the conversation."""
        parts = [(await self._embeddings.embed_query(query.text[:MAX_QUERY_CHARACTERS]), 1.0)]
        if query.words:
            parts.append(
                (await self._embeddings.embed_query(" ".join(query.words)[:MAX_QUERY_CHARACTERS]), WORDS_SHARE)
            )
        return blended(parts)


class _Connection:
    """A connection and the one thread that uses it."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="threadkeep-index")
        self._closed = False

    async def do(self, work: Callable[[SqliteDatabase], T]) -> T:
        """Do the work in the thread."""
        if self._closed:
            raise IndexUnusable("The index is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Callable[[SqliteDatabase], T]) -> T:
        with translating_sqlite_errors():
            return work(self._database)

    async def close(self) -> None:
        """Finish what was begun, and close the connection."""
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._thread.shutdown()
        self._database.close()


def _terms(text: str) -> list[str]:
    """Return the different words to look for, in order; stop words only if there is nothing else."""
    found = content_words(text, MOST_TERMS)
    return found or list(dict.fromkeys(query_terms(text[:MAX_QUERY_CHARACTERS])))[:MOST_TERMS]


def _write(database: SqliteDatabase, prepared: Sequence[Prepared]) -> None:
    with transaction(database):
        for each in prepared:
            writing.write(database, each)


def _remove(database: SqliteDatabase, ids: Sequence[str]) -> int:
    with transaction(database):
        return sum(writing.remove(database, id) for id in ids)


def _search(database: SqliteDatabase, wanted: reading.Wanted, limit: int) -> list[Passage]:
    with transaction(database, "DEFERRED"):
        return reading.search(database, wanted, limit)
