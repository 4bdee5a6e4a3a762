"""What is derived from the log in SQLite: the words for search, each conversation's last activity and size, and what
answers have used.

An append writes the log only. The rest follows in batches when writing pauses. Searches, lists and counts add what has
not followed yet, so that they are exact for every reader, cost little for every writer, and wait for nobody.
"""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from threadkeep.conversation.scope import Scope
from threadkeep.errors import StoreCorrupt
from threadkeep.store.codec import Row, encode_id, found_text, moment
from threadkeep.store.paging import LAST_PLACE, LOOKED_AT, Listed, Listing, ListQuery, activity
from threadkeep.store.sqlite.log import LISTED, listed_key
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.usage import add_used
from threadkeep.store.usage import UsageSum, used
from threadkeep.store.values import ListFilter, Statistics
from threadkeep.text.query import Terms
from threadkeep.text.words import MAX_WORD, marks, without_marks, words

logger = logging.getLogger(__name__)

IDLE_SECONDS = 0.1
"""How long nothing must have been written before the log is caught up with unasked."""
LARGEST_LAG = 4096
"""How many entries may wait to be caught up with while writing goes on."""
LARGEST_STEP = 500_000
"""How many bytes are caught up with in one step, during which writers wait: some ten milliseconds."""

LAST_WORD = "\U0010ffff"
"""What comes behind every word with the same beginning."""
_CUT = re.compile(rf"(?a:\b\w{{{MAX_WORD + 1}}})")
"""What may be a word that is cut in the index."""
_LAGGING = (
    "FROM entry e JOIN conversation c ON c.key = e.conversation WHERE e.position > (SELECT position FROM caught_up)"
)

_OF = "c.tenant = ?1 AND (?2 IS NULL OR c.user = ?2) AND c.id IS NOT NULL"


def lag(reader: Reader) -> int:
    """Return how many entries are not derived from yet."""
    return int(reader.db.value("SELECT coalesce(max(position), 0) - (SELECT position FROM caught_up) FROM entry"))


def catch_up(reader: Reader, limit: int = 256) -> bool:
    """Take up to `limit` entries that are not derived from yet, and not much more than `LARGEST_STEP`; return whether
    there may be more."""
    db, size, position = reader.db, 0, 0
    rows = db.execute(
        "SELECT e.position, e.conversation, c.tenant, c.user, e.seq, e.created_at, e.kind, e.tokens, e.content, "
        f"e.parts {_LAGGING} ORDER BY e.position LIMIT ?",
        (limit,),
    )
    activity: dict[int, tuple[int, int, int]] = {}
    indexed = []
    spent = defaultdict[tuple[int, int], list[UsageSum]](list)
    for position, conversation, tenant, user, seq, created_at, *columns in rows:
        limit -= 1
        row = _unpacked(reader, position, columns)
        if added := used(row, moment(created_at)):
            spent[tenant, user].append(added)
        activity[conversation] = (created_at, activity.get(conversation, (0, 0))[1] + row.size, seq)
        if text := found_text(row):
            indexed.append((position, f"{_found_by(user, conversation, text, created_at)} {_to_be_split(text)}"))
        if (size := size + row.size) > LARGEST_STEP:
            break
    db.executemany("INSERT INTO word (rowid, words) VALUES (?, ?)", indexed)
    db.executemany(
        "UPDATE conversation SET updated_at = ?, bytes = bytes + ?, entries = ? WHERE key = ?",
        [(*derived, key) for key, derived in activity.items()],
    )
    add_used(db, spent)
    if position:
        db.execute("UPDATE caught_up SET position = ?", (position,))
    return limit == 0 or size > LARGEST_STEP


def remove(reader: Reader, user: int, key: tuple[int, int], positions: Iterable[int]) -> None:
    """Remove the words of entries, as far as they are indexed."""
    reached = reader.db.value("SELECT position FROM caught_up")
    for position in positions:
        said_at, *columns = reader.db.row(
            "SELECT created_at, kind, tokens, content, parts FROM entry WHERE position = ?", (position,)
        )
        text = found_text(_unpacked(reader, position, columns))
        if text and position <= reached:
            found = f"{_found_by(user, key[1], text, said_at)} {' '.join(words(text))}"
            reader.db.execute("INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)", (position, found))


def _unpacked(reader: Reader, position: int, columns: Any) -> Row:
    """Return a row; one that is damaged counts as empty here, and is refused to who reads it."""
    kind, tokens, content, parts = columns
    try:
        return Row(kind, None, tokens, reader.packer.unpack(content), reader.packer.unpack(parts))
    except StoreCorrupt as error:
        logger.warning("entry %s of the SQLite file cannot be found by its words: %s", position, error)
        return Row(kind, None, tokens, "", None)


def _found_by(user: int, conversation: int, text: str, said_at: int) -> str:
    """Return what an entry is found by beside its words."""
    return " ".join((f"¤u{user}", f"¤c{conversation}", *marks(text, moment(said_at))))


def _to_be_split(text: str) -> str:
    """Return what the index finds the same words in as `words`, mostly the text itself: it splits ASCII as we do. To
    remove a message, its words are named once each: never more than were counted when it came."""
    plain = text if text.isascii() else without_marks(text)
    return plain if plain.isascii() and not _CUT.search(plain) else " ".join(words(text))


# What has not followed yet


def _late_activity(reader: Reader, tenant: int, user: int | None) -> dict[int, int]:
    """Return the conversations whose last activity is not derived yet, and when that was."""
    sql = f"SELECT e.conversation, e.created_at {_LAGGING} AND {_OF} ORDER BY e.position"
    return dict(reader.db.execute(sql, (tenant, user)))


def late_words(reader: Reader, tenant: int, user: int | None, bound: int) -> Iterator[tuple[int, int, int, set[str]]]:
    """Yield position, conversation, seq and words, with the marks, of the messages that are not indexed yet, the newest
    first."""
    sql = (
        f"SELECT e.position, e.conversation, e.seq, e.created_at, e.kind, e.tokens, e.content, e.parts {_LAGGING} "
        f"AND {_OF} AND e.position <= ?3 ORDER BY e.position DESC"
    )
    for position, conversation, seq, said_at, *columns in reader.db.execute(sql, (tenant, user, bound)):
        if text := found_text(_unpacked(reader, position, columns)):
            yield position, conversation, seq, words(text).union(marks(text, moment(said_at)))


# Lists and counts


def list_conversations(reader: Reader, asked: ListQuery) -> Listing:
    keys = reader.owner_keys(asked.tenant, None if isinstance(asked.whose, str) else asked.whose.user)
    if keys is None:
        return Listing(())
    here = f"c.tenant = ?1 AND {'?2 IS NULL' if keys[1] is None else 'c.user = ?2'} AND c.id IS NOT NULL"
    order = "ORDER BY c.updated_at DESC, c.key DESC"
    places, reached = (*keys, *asked.before), None
    if asked.is_filtered:
        sql = (
            f"SELECT c.updated_at, c.key FROM conversation c WHERE {here} AND (c.updated_at, c.key) < (?3, ?4) {order}"
        )
        reached = reader.db.row(f"{sql} LIMIT 1 OFFSET {LOOKED_AT - 1}", places)
    floor = reached or LAST_PLACE
    listed = f"{LISTED} INDEXED BY conversation_first" if asked.where.first and keys[1] is not None else LISTED
    conditions, bindings = filtered(asked.where, asked.title)
    late = _late_activity(reader, *keys)
    derived = reader.db.execute(
        f"{listed} WHERE {here} AND (c.updated_at, c.key) < (?3, ?4) AND (c.updated_at, c.key) >= (?5, ?6) "
        f"{conditions} {order} LIMIT {asked.limit + len(late)}",
        (*places, *floor, *bindings),
    )
    # The first of each kind are enough; there may be thousands that lag behind, of which few are on this page.
    rows = list(islice((row for row in derived if row[0] not in late), asked.limit))
    newer = sorted(((at, key) for key, at in late.items() if floor <= (at, key) < asked.before), reverse=True)
    looked = (reader.db.row(f"{LISTED} WHERE c.key = ?1 {conditions}", (key, *bindings)) for _, key in newer)
    rows += islice(filter(None, looked), asked.limit)
    found = sorted((_listed(reader, asked, row) for row in rows), key=activity, reverse=True)
    return Listing(found, reached)


def filtered(where: ListFilter, title: Terms) -> tuple[str, list[Any]]:
    """Return the conditions on a conversation that a filter makes, and their bindings."""
    wanted, bindings = where.documents(), list[Any]()
    titled, named = title_condition(title.required, [title.prefix] if title.prefix else [])
    conditions = [f"AND c.facts ->> '{name}' IS NULL" for name in wanted.absent]
    for name, value in wanted.present.items():
        conditions, bindings = [*conditions, f"AND c.facts ->> '{name}' = ?"], [*bindings, value]
    if where.first is not None:
        conditions.append("AND c.is_first" if where.first else "AND NOT c.is_first")
    if where.shared is not None:
        conditions.append(f"AND c.large ->> 'shares' IS {'NOT NULL' if where.shared else 'NULL'}")
    if where.metadata:
        conditions.append("AND has_metadata(c.large, ?)")
        bindings.append(json.dumps(where.metadata))
    return " ".join([*conditions, titled]), [*bindings, *named]


def title_condition(words: Sequence[str], prefixes: Sequence[str]) -> tuple[str, list[str]]:
    """Return the condition that a title holds words and beginnings of words, and its bindings."""
    held = "AND EXISTS (SELECT 1 FROM title_word t WHERE t.tenant = c.tenant AND t.conversation = c.key AND t.word "
    condition = f"{held} = ?) " * len(words) + f"{held} BETWEEN ? AND ?) " * len(prefixes)
    return condition, [*words, *(end for prefix in prefixes for end in (prefix, prefix + LAST_WORD))]


def _listed(reader: Reader, asked: ListQuery, row: Sequence[Any]) -> Listed:
    if isinstance(scope := asked.whose, str):
        scope = Scope(tenant=scope, user=reader.db.value("SELECT name FROM user WHERE key = ?", row[2:3]))
    return reader.log_at(scope, listed_key(row)).to_conversation(row), row[0]


def statistics(reader: Reader, tenant: str, user: str | None, conversation: str | None) -> Statistics:
    """Return how much a tenant, or one user or one conversation of it, has stored."""
    keys = reader.owner_keys(tenant, user)
    if keys is None:
        return Statistics()
    only, asked = ("", keys) if conversation is None else ("AND c.id = ?3", (*keys, encode_id(conversation)))
    conversations, entries, size = reader.db.row(
        f"SELECT count(*), coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM conversation c WHERE {_OF} {only}",
        asked,
    )
    sql = f"SELECT e.position, e.kind, e.tokens, e.content, e.parts {_LAGGING} AND {_OF} {only}"
    late = [_unpacked(reader, position, row).size for position, *row in reader.db.execute(sql, asked)]
    return Statistics(conversations=conversations, entries=entries + len(late), bytes=size + sum(late))
