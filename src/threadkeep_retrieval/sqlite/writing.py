"""Changes to an index, inside the transaction of the caller."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.text.excerpt import Stretch
from threadkeep.text.words import words_in_order
from threadkeep_retrieval.base import Document
from threadkeep_retrieval.embeddings import Vector, packed, unit
from threadkeep_retrieval.errors import WrongEmbeddings


class Prepared(NamedTuple):
    """A document with all that finds it."""

    document: Document
    stretches: Sequence[Stretch]
    vectors: Sequence[Vector]


def digest(document: Document) -> bytes:
    """Return a number that changes whenever the document does."""
    content = json.dumps([document.title, document.text, dict(document.metadata)])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def digests(database: SqliteDatabase, ids: Iterable[str]) -> Mapping[str, bytes]:
    """Return the digests of the documents that are there."""
    found = (database.row("SELECT id, digest FROM document WHERE id = ?", (id,)) for id in ids)
    return dict(row for row in found if row is not None)


def write(database: SqliteDatabase, prepared: Prepared) -> None:
    """Put a document in the place of the one with its id, if there is one."""
    document = prepared.document
    remove(database, document.id)
    metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
    database.execute(
        "INSERT INTO document (id, title, text, metadata, digest) VALUES (?, ?, ?, ?, ?)",
        (document.id, document.title, document.text, metadata, digest(document)),
    )
    key = database.last_insert_rowid()
    database.executemany(
        "INSERT INTO field (document, name, value) VALUES (?, ?, ?)",
        [(key, name, value) for name, value in document.metadata.items()],
    )
    title = " ".join(words_in_order(document.title))
    for stretch, vector in zip(prepared.stretches, prepared.vectors, strict=True):
        _write_passage(database, key, stretch, vector)
        body = " ".join(words_in_order(document.text[stretch.start : stretch.stop]))
        database.execute(
            "INSERT INTO word (rowid, title, body) VALUES (?, ?, ?)", (database.last_insert_rowid(), title, body)
        )


def _write_passage(database: SqliteDatabase, document: int, stretch: Stretch, vector: Vector) -> None:
    _check_dimensions(database, len(vector))
    direction = unit(vector)
    database.execute(
        "INSERT INTO passage (document, start, stop, vector) VALUES (?, ?, ?, ?)",
        (document, *stretch, None if direction is None else packed(direction)),
    )


def _check_dimensions(database: SqliteDatabase, dimensions: int) -> None:
    """Take the length of the first vector as that of all."""
    known = database.value("SELECT dimensions FROM embedding")
    if not known:
        database.execute("UPDATE embedding SET dimensions = ?", (dimensions,))
    elif known != dimensions:
        raise WrongEmbeddings(f"The vectors of this index have {known} numbers, this one has {dimensions}.")


def remove(database: SqliteDatabase, id: str) -> bool:
    """Take a document out; return whether it was there."""
    key = database.value("SELECT key FROM document WHERE id = ?", (id,))
    if key is None:
        return False
    database.execute("DELETE FROM word WHERE rowid IN (SELECT key FROM passage WHERE document = ?)", (key,))
    database.execute("DELETE FROM passage WHERE document = ?", (key,))
    database.execute("DELETE FROM field WHERE document = ?", (key,))
    database.execute("DELETE FROM document WHERE key = ?", (key,))
    return True
