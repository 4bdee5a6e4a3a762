"""Search: the index of words, which follows the log in batches, and the way from a query to the messages that match.

An append only notes that its conversation is behind. The words are computed here, because how text falls into words is
the same for every backend, and stored in batches: by whoever has appended enough, and always before a search. With them
goes each conversation's last activity, by which it is listed, and what its answers have used.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Run, Tree
from threadkeep.errors import ConversationNotFound, StoreCorrupt, StoreError
from threadkeep.store.base import MAX_LIMIT
from threadkeep.store.codec import STATE, Row, decode_id, encode_id, found_text, kinds_of, role_of
from threadkeep.store.paging import Candidate, Matches, Search
from threadkeep.store.usage import MOST_MODELS, UsageSum, used
from threadkeep.store.values import ListFilter, Related
from threadkeep.text import words
from threadkeep.text.query import Query, Subject, Terms
from threadkeep.text.search import CANDIDATES, MARKED, RELATED, SCANNED, relate
from threadkeep_postgres.database import Columns, Database, to_facts, to_tree
from threadkeep_postgres.jsonb import dump_fields, escape, load_text

T = TypeVar("T")
logger = logging.getLogger("threadkeep.store.postgres.search")

PAUSE_SECONDS = 1.0
"""For how long nobody has appended when indexing begins by itself."""
BACKLOG = 5000
"""How many entries may be appended by one store before it indexes them although there was no pause."""
_BEHIND = "behind"
MOST_ENTRIES = 64
MOST_BYTES = 4 * 1024 * 1024
MOST_WORD_BYTES = 900_000
"""How many bytes of words of one entry are indexed, with what they begin with; PostgreSQL allows a megabyte."""


class Index:
    """Brings the index up to date."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._added = 0
        self._last_added = 0.0
        self._following: asyncio.Task[None] | None = None

    def note(self, entries: int) -> None:
        """Count what was appended, and index it in the background later."""
        loop = asyncio.get_running_loop()
        self._added += entries
        self._last_added = loop.time()
        if self._following is None:
            self._following = loop.create_task(self._follow())

    async def _follow(self) -> None:
        """Index what was appended when there is a pause or there is much of it."""
        clock = asyncio.get_running_loop().time
        try:
            while self._added:
                if self._added < BACKLOG and (wait := self._last_added + PAUSE_SECONDS - clock()) > 0:
                    await asyncio.sleep(wait)
                else:
                    self._added = 0
                    await self.catch_up()
        except StoreError as error:
            logger.warning("the search index lags behind: %s", error)
        finally:
            self._following = None

    async def close(self) -> None:
        """Stop indexing; what is not indexed yet will be by the next one who looks for it."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait((self._following,))

    async def catch_up(self, tenant: int | None = None, owner: int | None = None) -> None:
        """Index everything of one user, or of everybody, that was appended before this call."""
        if tenant is None:
            await self._db.each_tenant("indexing", self.catch_up)
            return
        while await self._step(tenant, owner):
            pass

    async def _step(self, tenant: int, owner: int | None) -> bool:
        """Index a batch and return whether there may be more."""
        rows = await self._db.pool.call("unindexed", tenant, owner, MOST_ENTRIES, MOST_BYTES)
        if not rows:
            return False
        found = [list(group) for _, group in groupby(rows, key=lambda row: row["conversation"])]
        spoken = [(row["conversation"], row["seq"], text) for row in rows if (text := self._words(row))]
        places = [tenant, *([group[0][name] for group in found] for name in ("owner", "conversation"))]
        upto = [group[-1]["seq"] or group[-1]["indexed"] for group in found]
        columns: list[list[Any]] = [list(column) for column in zip(*spoken, strict=True)] or [[], [], []]
        spent = [(*row[:2], row["seq"], *sums) for row in rows if (sums := self._used(row))]
        await self._db.pool.call("catch_up", *places, upto, *columns, spent, MOST_MODELS)
        await self._db.pool.call("caught_up", *places)
        was_cut = any((group[-1]["seq"] or group[-1]["last"]) < group[-1]["last"] for group in found)
        return was_cut or len(rows) >= MOST_ENTRIES

    async def count(self, tenant: int, spent: Sequence[tuple[Any, ...]]) -> None:
        """Count what another log has used, once: it is not called again if it may have been counted."""
        await self._db.pool.write("catch_up", tenant, [], [], [], [], [], [], spent, MOST_MODELS)

    def _used(self, row: Any) -> UsageSum | None:
        """Return what an entry has used."""
        if row["seq"] is None or not row["parts"]:
            return None
        return used(Row(row["kind"], None, None, "", load_text(row["parts"])), row["created_at"])

    def _words(self, row: Any) -> str:
        """Return the words of an entry with spaces between them; nothing if it has none."""
        if row["seq"] is None:
            return ""
        try:
            columns = {name: row[name] for name in ("kind", "content", "parts")}
            text = found_text(self._db.translator.row({**columns, "id": None, "tokens": None}))
        except StoreCorrupt as error:
            logger.warning("entry %s of conversation %s cannot be found: %s", row["seq"], row["conversation"], error)
            return ""
        if not text:
            return ""
        return " ".join(_bounded((*words.marks(text, row["created_at"]), *words.words(text)), row["owner"]))


class Searcher:
    """Searches through a database."""

    def __init__(self, database: Database, index: Index) -> None:
        self._db = database
        self._index = index

    async def search(self, asked: Search) -> Matches:
        """Return the newest messages of the user that match and conversations by their titles, newest first."""
        keys, query = await self._db.scope(asked.scope), asked.query
        if keys is None:
            if asked.conversation is not None:
                raise ConversationNotFound
            return Matches((), (), 0)
        only = None if asked.conversation is None else encode_id(asked.conversation)
        where = ListFilter.model_construct(assistant=query.assistant, status=query.status)
        times = (query.since, query.until)
        rows: Sequence[Any] = ()
        if query:
            kinds = (0, STATE - 1) if query.role is None else kinds_of(query.role)
            scanned = SCANNED if query.is_filtered else CANDIDATES
            bounds = (asked.bound, scanned, CANDIDATES)
            filters = (to_filter(where, query.title), *times)
            rows = await self._find("search", *keys, only, to_tsquery(query, keys[1]), *kinds, *filters, *bounds)
        bound = rows[0]["bound"] if rows else asked.bound or 0
        if not asked.finds_titles:
            return Matches(self._translate(rows), (), bound)
        titled = to_filter(where, query, query.title)
        found = await self._db.pool.call("search_titles", *keys, titled, *times, SCANNED, MAX_LIMIT)
        return Matches(self._translate(rows), [_subject(row["id"], row, row["created_at"]) for row in found], bound)

    async def _find(self, verb: str, tenant: int, owner: int, *arguments: Any) -> Sequence[Any]:
        """Return what is found. What is not indexed yet is indexed first."""
        rows = await self._db.pool.call(verb, tenant, owner, *arguments, False)
        if rows and rows[0]["refused"] == _BEHIND:
            await self._index.catch_up(tenant, owner)
        elif not rows or rows[0]["refused"] is None:
            return rows
        return await self._db.lines(verb, tenant, owner, *arguments, True)

    async def related(
        self, scope: Scope, conversation: str, words: Sequence[Sequence[str]], path: Sequence[Run], limit: int
    ) -> list[Related]:
        """Return entries of a branch that have to do with the words, the best first."""
        place = await self._db.place(scope, conversation)
        people = people_of(place[1])
        quoted = [" | ".join(_quoted(people + form) for form in forms) for forms in words]
        rows = await self._find("holding", *place, quoted, path[0].last + 1, RELATED, MARKED)
        found = relate(words, [row["seqs"] for row in rows], path, limit)
        lines = await self._db.pool.call("entries_at", *place, list(found)) if found else []
        there = (line for line in lines if line["seq"])
        entries = {entry.seq: entry for entry in self._db.translator.entries(conversation, there)}
        return [Related(entries[seq], score) for seq, score in found.items() if seq in entries]

    def _translate(self, rows: Sequence[Any]) -> Iterator[Candidate]:
        found: dict[bytes, tuple[Subject, Tree]] = {}
        for row in rows:
            if row["conversation"] not in found:
                subject = _subject(row["conversation"], row, row["begun_at"])
                found[row["conversation"]] = subject, to_tree(row["head"], row["newest"], row["jumps"])
            subject, tree = found[row["conversation"]]
            text = found_text(self._db.translator.row(row))
            about = (partial(_itself, subject), partial(_itself, tree))
            yield Candidate(row["seq"], role_of(row["kind"]), row["created_at"], text, *about)


def _itself(value: T) -> T:
    return value


def _subject(id: bytes, row: Columns, created_at: datetime) -> Subject:
    facts = to_facts(row, is_listed=True)
    return Subject(decode_id(id), facts["title"], facts["assistant"], facts["status"], created_at)


def to_filter(where: ListFilter, *titles: Terms) -> str | None:
    """Return as JSON which conversations are looked for: see `is_listed`; null where everything is let through."""
    present, absent = where.documents()
    wanted = {
        "first": where.first,
        "present": json.loads(dump_fields(present)),
        "absent": absent,
        "metadata": {escape(key): escape(value) for key, value in where.metadata.items()},
        "shared": where.shared,
        "words": [word for title in titles for word in title.required],
        "prefixes": [title.prefix for title in titles if title.prefix],
    }
    asked = {name: value for name, value in wanted.items() if value not in (None, [], {})}
    return json.dumps(asked) if asked else None


def people_of(owner: int) -> str:
    """Return what words begin with in the index: it keeps together what a hundred people have said."""
    return f"{str(owner)[:-2]}:"


def to_tsquery(query: Query, owner: int) -> str:
    """Return a search in PostgreSQL's own words: all of these, one that begins like this, and none of those."""
    people = people_of(owner)
    terms = [_quoted(people + word) for word in query.required]
    if query.prefix:
        terms.append(f"{_quoted(people + query.prefix)}:*")
    return " & ".join([*terms, *(f"!{_quoted(people + word)}" for word in sorted(query.excluded))])


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _bounded(found: Iterable[str], owner: int) -> list[str]:
    kept, room, beside = [], MOST_WORD_BYTES, len(people_of(owner))
    for word in found:
        room -= len(word.encode()) + beside
        if room < 0:
            break
        kept.append(word)
    return kept
