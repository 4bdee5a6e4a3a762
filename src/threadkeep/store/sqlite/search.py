"""Searching in SQLite: the way from a query to the messages and titles that match, and to related messages.

The index of words lags behind the log; what has not followed yet is looked at one by one, so that everything is found.
"""

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, compress
from typing import Any

from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Tree
from threadkeep.store import codec
from threadkeep.store.base import MAX_LIMIT
from threadkeep.store.paging import Candidate, Matches, Search, subject_of
from threadkeep.store.sqlite.index import LAST_WORD, filtered, late_words, title_condition
from threadkeep.store.sqlite.log import ConversationKey, SqliteLog
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.schema import ENTRY
from threadkeep.store.values import ListFilter
from threadkeep.text.query import Query, Subject
from threadkeep.text.search import CANDIDATES, MARKED, RELATED, SCANNED
from threadkeep.text.words import MARK

Keys = tuple[int, int]
"""Tenant and user."""
_ENTRY = ", ".join(f"e.{column}" for column in ENTRY.split(", "))


def related(reader: Reader, key: ConversationKey, words: Sequence[Sequence[str]], last: int) -> list[Sequence[int]]:
    """Return for each word and mark the newest entries of a conversation up to `last` that hold one of its forms; for a
    word that says nothing, because very many hold it and another is rare, only as many numbers."""
    late = [
        (seq, found)
        for _, conversation, seq, found in late_words(reader, key.tenant, None, MAX_SEQ)
        if conversation == key.conversation and seq <= last
    ]
    sql = "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?"
    held = list[list[int]]()
    for forms in words:
        most = MARKED if forms[0].startswith(MARK) else RELATED
        any_form = " OR ".join(f'"{form}"' for form in forms)
        places = reader.db.execute(sql, (f'"¤c{key.conversation}" AND ({any_form})', most))
        held.append([place for (place,) in places])
    marked = [forms[0].startswith(MARK) for forms in words]
    says = [is_mark or len(places) < RELATED for is_mark, places in zip(marked, held, strict=True)]
    found: list[list[int]] = []
    # Which entries they are is asked for those that say something, and for all only if no word of these was said.
    for asked in (says, [True] * len(says)):
        seqs = _seqs(reader, key, sorted({*chain.from_iterable(compress(held, asked))}), last)
        found = [
            [*(seq for seq, said in late if not said.isdisjoint(forms)), *(seqs[at] for at in places if at in seqs)]
            for forms, places in zip(words, held, strict=True)
        ]
        if any(compress(found, map(operator.gt, asked, marked))):
            break
    return [each if is_asked else range(RELATED) for each, is_asked in zip(found, asked, strict=True)]


def _seqs(reader: Reader, key: ConversationKey, places: Sequence[int], last: int) -> dict[int, int]:
    """Return the entries of a conversation up to `last` among those at some places in the log."""
    return dict(
        reader.db.execute(
            "SELECT position, seq FROM json_each(?) CROSS JOIN entry ON position = value "
            "WHERE tenant = ? AND conversation = ? AND seq <= ?",
            (json.dumps(places), *key[:2], last),
        )
    )


def search(reader: Reader, asked: Search) -> Matches:
    """Return the newest entries that hold the words of a query and conversations by their titles, newest first."""
    only = reader.log(asked.scope, asked.conversation).key.conversation if asked.conversation is not None else None
    newest = reader.db.value("SELECT coalesce(max(position), 0) FROM entry") if asked.bound is None else asked.bound
    keys = reader.scope(asked.scope)
    if keys is None:
        return Matches((), (), newest)
    found = _entries(reader, keys, asked.query, only, newest) if asked.query else []
    titles = _titles(reader, keys, asked.query) if asked.finds_titles else []
    return Matches(_candidates(reader, asked.scope, keys[0], found), titles, newest)


def _entries(reader: Reader, keys: Keys, query: Query, only: int | None, bound: int) -> list[tuple[Any, ...]]:
    """Return conversation, its id and the columns of entries that hold the words; only filters may leave some out."""
    late = [
        position
        for position, key, _, found in late_words(reader, *keys, bound)
        if only in (None, key) and query.fits(found)
    ]
    terms = [f"¤u{keys[1]}" if only is None else f"¤c{only}", *query.required]
    match = " AND ".join(f'"{term}"' for term in terms)
    if query.prefix:
        match += f' AND "{query.prefix}" *'
    if query.excluded:
        excluded = " OR ".join(f'"{term}"' for term in sorted(query.excluded))
        match = f"({match}) NOT ({excluded})"
    kinds = (0, codec.STATE - 1) if query.role is None else codec.kinds_of(query.role)
    conditions, bindings = _of_query(query)
    # The words alone are asked first, so that no more than so many are looked at; a join keeps their order.
    return reader.db.rows(
        f"SELECT c.key, c.id, {_ENTRY}, e.crc FROM (SELECT value AS rowid FROM json_each(?) UNION ALL SELECT * FROM ("
        "SELECT rowid FROM word WHERE word MATCH ? AND rowid <= ? ORDER BY rowid DESC LIMIT ?)) w "
        "CROSS JOIN entry e ON e.position = w.rowid CROSS JOIN conversation c ON c.key = e.conversation "
        "WHERE e.tenant = ? AND c.id IS NOT NULL AND e.kind BETWEEN ? AND ? AND e.created_at BETWEEN ? AND ? "
        f"{conditions} LIMIT ?",
        (json.dumps(late), match, bound, SCANNED, keys[0], *kinds, *_times(query), *bindings, CANDIDATES),
    )


def _titles(reader: Reader, keys: Keys, query: Query) -> list[Subject]:
    """Return the conversations, the last created first, whose titles hold the words and the filters let through."""
    words = [*query.required, *query.title.required]
    prefixes = [prefix for prefix in (query.prefix, query.title.prefix) if prefix]
    named = "SELECT conversation AS key FROM title_word WHERE tenant = ? AND user = ? AND word"
    if words:
        first, lookup = f"{named} = ? ORDER BY conversation DESC LIMIT {SCANNED}", words[:1]
    elif prefixes:
        first, lookup = f"{named} BETWEEN ? AND ? LIMIT {SCANNED}", [prefixes[0], prefixes[0] + LAST_WORD]
    else:
        first, lookup = (
            "SELECT key FROM conversation WHERE tenant = ? AND user = ? AND id IS NOT NULL "
            f"ORDER BY updated_at DESC, key DESC LIMIT {SCANNED}",
            [],
        )
    conditions, bindings = _of_query(query)
    titled, named_by = title_condition(words, prefixes)
    rows = reader.db.rows(
        f"SELECT DISTINCT c.id, c.facts, c.created_at FROM ({first}) w "
        "CROSS JOIN conversation c ON c.key = w.key WHERE c.id IS NOT NULL AND c.created_at BETWEEN ? AND ? "
        f"{conditions} {titled} ORDER BY c.key DESC LIMIT {MAX_LIMIT}",
        (*keys, *lookup, *_times(query), *bindings, *named_by),
    )
    found = ((id, codec.decode_facts(json.loads(facts), {}), at) for id, facts, at in rows)
    return [
        Subject(codec.decode_id(id), facts["title"], facts["assistant"], facts["status"], codec.moment(at))
        for id, facts, at in found
    ]


def _of_query(query: Query) -> tuple[str, list[Any]]:
    """Return the conditions on a conversation that a query's filters make, and their bindings."""
    return filtered(ListFilter.model_construct(assistant=query.assistant, status=query.status), query.title)


def _times(query: Query) -> tuple[int, int]:
    """Return the first and the last microsecond that a query asks for."""
    since = -(2**62) if query.since is None else codec.microseconds(query.since)
    return since, 2**62 if query.until is None else codec.microseconds(query.until) - 1


def _candidates(reader: Reader, scope: Scope, tenant: int, rows: Sequence[tuple[Any, ...]]) -> Iterator[Candidate]:
    """Yield messages, each with what is read once of its conversation if it is needed."""
    known: dict[int, tuple[SqliteLog, Callable[[], Subject], Callable[[], Tree]]] = {}
    unpack = reader.packer.unpack
    for key, name, *columns in rows:
        if key not in known:
            log = reader.log_at(scope, ConversationKey(tenant, key, codec.decode_id(name)))
            known[key] = log, cache(partial(_subject, log)), cache(partial(_tree, log))
        log, subject, tree = known[key]
        log.check([tuple(columns)])
        seq, _, kind, _, created_at, id, tokens, _, _, content, parts, _ = columns
        text = codec.found_text(codec.Row(kind, id, tokens, unpack(content), unpack(parts)))
        yield Candidate(seq, codec.role_of(kind), codec.moment(created_at), text, subject, tree)


def _subject(log: SqliteLog) -> Subject:
    return subject_of(log.conversation)


def _tree(log: SqliteLog) -> Tree:
    return log.tree
