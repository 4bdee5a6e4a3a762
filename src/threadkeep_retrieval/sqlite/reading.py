"""Searching an index: which passages the words find, which the vector finds, and what is known about documents."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from threadkeep.errors import InvalidValue
from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.text.stems import forms
from threadkeep.text.words import query_terms
from threadkeep.turn.lookup import Passage, Scalar
from threadkeep_retrieval.base import Document, Filter
from threadkeep_retrieval.embeddings import Vector, packed
from threadkeep_retrieval.errors import WrongEmbeddings

CANDIDATES = 200
"""How many passages each side brings in."""
TITLE_WEIGHT = 2.0
"""How much more a word counts in a title."""
VECTOR_SHARE = 0.35
"""How much the nearness of vectors counts beside the words (`bench/followups.py` measures it)."""
# To SQLite every text is greater than every number; to a person the two have no order.
_ALIKE = "AND (typeof(value) = 'text') = (typeof(?) = 'text')"
_COMPARED = {
    "=": "value = ?",
    "!=": "value <> ?",
    "<": f"value < ? {_ALIKE}",
    "<=": f"value <= ? {_ALIKE}",
    ">": f"value > ? {_ALIKE}",
    ">=": f"value >= ? {_ALIKE}",
}


class Condition(NamedTuple):
    """What the `document` of a row must meet, and what to bind for it."""

    sql: str
    bindings: Sequence[Scalar]


class Wanted(NamedTuple):
    """A query, ready: its own words and those around it, the vector and how near is near enough, and the filters."""

    own: Sequence[str]
    around: Sequence[str]
    language: str
    vector: Vector | None
    unrelated: float
    where: Sequence[Filter]


class Listed(NamedTuple):
    """A document in a list: without its text."""

    id: str
    title: str
    passages: int
    characters: int


def search(database: SqliteDatabase, wanted: Wanted, limit: int) -> list[Passage]:
    """Return the best passages, the best first. Both sides see only what the filters leave."""
    fitting = condition(wanted.where)
    found = fuse(_by_words(database, wanted, fitting), _by_vector(database, wanted, fitting))
    return [_passage(database, key, score) for key, score in found[:limit]]


def _by_words(database: SqliteDatabase, wanted: Wanted, fitting: Condition) -> dict[int, float]:
    terms = weighted_terms(database, wanted)
    if not terms:
        return {}
    # A word that stands twice in the query counts twice in BM25. Words hold letters and digits only.
    query = " OR ".join(f'"{term}"' for term, weight in terms for _ in range(weight))
    # The plus keeps SQLite from asking the full-text index once for each passage that fits.
    among = f"AND +word.rowid IN (SELECT key FROM passage WHERE {fitting.sql})" if wanted.where else ""
    rows = database.execute(
        f"SELECT word.rowid, -bm25(word, {TITLE_WEIGHT}, 1.0) AS score FROM word WHERE word MATCH ? {among} "
        "ORDER BY score DESC LIMIT ?",
        (query, *fitting.bindings, CANDIDATES),
    )
    return dict(rows)


def weighted_terms(database: SqliteDatabase, wanted: Wanted) -> list[tuple[str, int]]:
    """Return the words to look for that the index has, with how much each counts.

    Those of the question count twice those around it; and all that a short question says as much as all of these.
    """
    own = [forms for term in wanted.own if (forms := _held(database, term, wanted.language))]
    around = [
        forms for term in wanted.around if term not in wanted.own and (forms := _held(database, term, wanted.language))
    ]
    share = max(2, math.ceil(len(around) / max(1, len(own))))
    return [*((form, share) for each in own for form in each), *((form, 1) for each in around for form in each)]


def _held(database: SqliteDatabase, term: str, language: str) -> list[str]:
    """Return the forms of a word that the index has. Words in ASCII are indexed by their English stems already."""
    if term.isascii():
        return [term]
    spelled = forms(term, language)
    places = ",".join("?" * len(spelled))
    return [row[0] for row in database.rows(f"SELECT term FROM vocabulary WHERE term IN ({places})", spelled)]


def _by_vector(database: SqliteDatabase, wanted: Wanted, fitting: Condition) -> dict[int, float]:
    if wanted.vector is None:
        return {}
    known = database.value("SELECT dimensions FROM embedding")
    if known and known != len(wanted.vector):
        raise WrongEmbeddings(f"The vectors of this index have {known} numbers, this one has {len(wanted.vector)}.")
    rows = database.execute(
        "SELECT key, 1 - vec_distance_cosine(vector, ?) AS score FROM passage "
        f"WHERE vector IS NOT NULL AND {fitting.sql} ORDER BY score DESC LIMIT ?",
        (packed(wanted.vector), *fitting.bindings, CANDIDATES),
    )
    return {key: score for key, score in rows if score > wanted.unrelated}


def _passage(database: SqliteDatabase, key: int, score: float) -> Passage:
    id, title, text, metadata, start, stop = database.row(
        "SELECT id, title, text, metadata, start, stop FROM passage JOIN document ON document.key = passage.document "
        "WHERE passage.key = ?",
        (key,),
    )
    return Passage(id=id, text=text[start:stop], title=title, metadata=json.loads(metadata), score=round(score, 6))


def rarity(database: SqliteDatabase, words: Iterable[str]) -> dict[str, float]:
    """Return how rare each word is among the passages: that of its rarest part, on a scale of magnitudes."""
    total = database.value("SELECT count(*) FROM passage")
    if not total:
        return {}
    stem = database.fts5_tokenizer("porter", ["ascii"])
    spoken = {word: " ".join(query_terms(word)).encode() for word in words}
    # Asked without offsets and words beside, it returns the stems alone.
    parts = {
        word: list(stem(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False))
        for word, text in spoken.items()
    }
    spelled = list({each for stems in parts.values() for each in stems})
    places = ", ".join("?" * len(spelled))
    known = dict(database.rows(f"SELECT term, doc FROM vocabulary WHERE term IN ({places})", spelled))
    counts = {word: min((known.get(each, 0) for each in stems), default=total) for word, stems in parts.items()}
    return {word: 1 - math.log1p(count) / math.log1p(total) for word, count in counts.items()}


def listed(database: SqliteDatabase, after: str, limit: int) -> list[Listed]:
    """Return a page of the documents, by id."""
    rows = database.rows(
        "SELECT id, title, count(*), max(stop) FROM document JOIN passage ON passage.document = document.key "
        "WHERE id > ? GROUP BY id ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [Listed(*row) for row in rows]


def document(database: SqliteDatabase, id: str) -> Document | None:
    """Return one document, whole."""
    row = database.row("SELECT title, text, metadata FROM document WHERE id = ?", (id,))
    return None if row is None else Document(id=id, title=row[0], text=row[1], metadata=json.loads(row[2]))


def condition(where: Iterable[Filter]) -> Condition:
    """Return the filters on metadata as one condition in SQL, names and values bound; without any, all rows meet it."""
    parts = ["true"]
    bindings: list[Scalar] = []
    for each in where:
        compared = _COMPARED.get(each.operator)
        if compared is None:
            raise InvalidValue(f"A filter compares with one of {' '.join(_COMPARED)}, not with {each.operator!r}.")
        parts.append(f"document IN (SELECT document FROM field WHERE name = ? AND {compared})")
        bindings += [each.field, *[each.value] * (compared.count("?"))]
    return Condition(" AND ".join(parts), bindings)


def fuse(words: Mapping[int, float], vectors: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return what either side found with its score from 0 to 1, the best first; of equals the older one.

    Scores are added, not places, because a word that only one passage has says more than a place can.
    """
    best = max(words.values(), default=0.0)
    far, near = min(vectors.values(), default=0.0), max(vectors.values(), default=0.0)
    scores = {
        key: (1 - VECTOR_SHARE) * (words.get(key, 0.0) / best if best else 0.0)
        + VECTOR_SHARE * ((vectors.get(key, far) - far) / (near - far) if near > far else float(key in vectors))
        for key in words.keys() | vectors.keys()
    }
    return sorted(scores.items(), key=lambda found: (-found[1], found[0]))
