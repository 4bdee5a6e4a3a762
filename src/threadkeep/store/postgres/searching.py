"""Searching: from a query to a page of ranked hits."""

from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Tree
from threadkeep.errors import ConversationNotFound
from threadkeep.store.codec import decode_id, encode_id
from threadkeep.store.paging import Candidate
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.index import Index
from threadkeep.store.postgres.jsonb import restore
from threadkeep.store.postgres.rows import refusal, to_tree
from threadkeep.text.search import CANDIDATES, RELATED, Query

_BEHIND = "behind"


class Searcher:
    """Searches through a database."""

    def __init__(self, database: Database, index: Index) -> None:
        self._db = database
        self._index = index

    async def search(
        self, scope: Scope, query: Query, conversation: str | None, bound: int | None
    ) -> tuple[list[Candidate], int]:
        """Return the newest messages of the user that match, newest first, and up to which position they are."""
        keys = await self._db.scope(scope)
        if keys is None:
            if conversation is not None:
                raise ConversationNotFound
            return [], 0
        only = None if conversation is None else encode_id(conversation)
        rows = await self._candidates(keys, only, to_tsquery(query), bound)
        return self._translate(rows), rows[0]["bound"] if rows else 0

    async def _candidates(
        self, keys: tuple[int, int], only: bytes | None, query: str, bound: int | None
    ) -> Sequence[Any]:
        """Return the newest messages that match. What is not indexed yet is indexed first."""
        rows = await self._db.pool.call("search", *keys, only, query, bound, CANDIDATES, False)
        if rows and rows[0]["refused"] == _BEHIND:
            await self._index.catch_up(*keys)
            rows = await self._db.pool.call("search", *keys, only, query, bound, CANDIDATES, True)
        if rows and rows[0]["refused"] is not None:
            raise refusal(rows[0]["refused"])
        return rows

    async def related(
        self, scope: Scope, conversation: str, terms: Sequence[str], before: int, limit: int
    ) -> tuple[Entry, ...]:
        """Return earlier messages of a conversation that hold some of the words, the best first."""
        place = await self._db.place(scope, conversation)
        asked = (
            place.tenant,
            place.owner,
            place.id,
            [_quoted(term) for term in terms],
            min(before, 2**31 - 1),
            RELATED,
            limit,
        )
        rows = await self._db.pool.call("related", *asked, False)
        if rows and rows[0]["refused"] == _BEHIND:
            await self._index.catch_up(place.tenant, place.owner)
            rows = await self._db.pool.call("related", *asked, True)
        if rows and rows[0]["refused"] is not None:
            raise refusal(rows[0]["refused"])
        return tuple(self._db.translator.entry(conversation, row) for row in rows)

    def _translate(self, rows: Sequence[Any]) -> list[Candidate]:
        found: dict[bytes, tuple[str | None, Tree]] = {}
        candidates = []
        for row in rows:
            if row["conversation"] not in found:
                title = None if row["title"] is None else restore(row["title"])
                found[row["conversation"]] = title, to_tree(row["head"], row["newest"], row["jumps"])
            title, tree = found[row["conversation"]]
            entry = self._db.translator.entry(decode_id(row["conversation"]), row)
            candidates.append(Candidate(entry, lambda title=title: title, lambda tree=tree: tree))  # type: ignore[misc]
        return candidates


def to_tsquery(query: Query) -> str:
    """Return a search in PostgreSQL's own words: all of these, and one that begins like this."""
    terms = [_quoted(word) for word in query.required]
    if query.prefix:
        terms.append(f"{_quoted(query.prefix)}:*")
    return " & ".join(terms)


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
