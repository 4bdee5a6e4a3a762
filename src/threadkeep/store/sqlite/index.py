"""What is derived from the log in SQLite: the words for search, and each conversation's last activity and size.

An append writes the log only. The rest follows in batches when writing pauses, and always before it is read, so that it
is exact for every reader and costs little for every writer.
"""

from collections.abc import Iterable

from threadkeep.conversation.scope import Scope
from threadkeep.store import words
from threadkeep.store.codec import Row, decode
from threadkeep.store.sqlite.connection import Database
from threadkeep.store.sqlite.reading import Place, Reader

IDLE_SECONDS = 0.1
"""How long nothing must have been written before the log is caught up with unasked."""
LARGEST_LAG = 16_384
"""How many entries may wait to be caught up with while writing goes on."""


def catch_up(reader: Reader, limit: int = 256) -> bool:
    """Take up to `limit` entries that are not derived from yet; return whether there may be more."""
    db = reader.db
    reached = db.value("SELECT position FROM caught_up")
    rows = db.rows(
        "SELECT e.position, e.conversation, c.user, e.created_at, e.kind, e.tokens, e.content, e.parts "
        "FROM entry e JOIN conversation c ON c.key = e.conversation WHERE e.position > ? ORDER BY e.position LIMIT ?",
        (reached, limit),
    )
    activity: dict[int, tuple[int, int]] = {}
    for position, conversation, user, created_at, kind, tokens, content, parts in rows:
        row = Row(kind, None, tokens, reader.packer.unpack(content), reader.packer.unpack(parts))
        activity[conversation] = (created_at, activity.get(conversation, (0, 0))[1] + row.size)
        _add_words(db, position, user, conversation, row)
    db.executemany(
        "UPDATE conversation SET updated_at = ?, bytes = bytes + ? WHERE key = ?",
        [(updated_at, size, key) for key, (updated_at, size) in activity.items()],
    )
    if rows:
        db.execute("UPDATE caught_up SET position = ?", (rows[-1][0],))
    return len(rows) == limit


def _add_words(db: Database, position: int, user: int, conversation: int, row: Row) -> None:
    text = row.content if not row.parts else words.searchable(decode(row._replace(id=bytes(16))))
    if row.kind < 8 and text:
        found = " ".join(words.words(text[: words.INDEXED_CHARACTERS]))
        db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (position, f"¤u{user} ¤c{conversation} {found}"))


def related(reader: Reader, place: Place, terms: Iterable[str], before: int) -> list[list[int]]:
    """Return for each word the newest entries of a conversation before an entry that hold it."""
    # CROSS keeps the planner from asking the words about each entry of the conversation, one by one.
    return [
        [
            row[0]
            for row in reader.db.execute(
                "SELECT e.seq FROM word CROSS JOIN entry e ON e.position = word.rowid "
                "WHERE word MATCH ? AND e.tenant = ? AND e.conversation = ? AND e.seq < ? "
                "ORDER BY word.rowid DESC LIMIT ?",
                (f'"¤c{place.conversation}" AND "{term}"', *place[:2], before, words.RELATED),
            )
        ]
        for term in terms
    ]


def candidates(
    reader: Reader, scope: Scope, query: words.Query, conversation: int | None, bound: int
) -> list[tuple[int, int]]:
    """Return position and conversation of the newest entries up to `bound` that hold the words of the query."""
    keys = reader.scope(scope)
    if keys is None:
        return []
    terms = [f"¤u{keys[1]}" if conversation is None else f"¤c{conversation}", *query.required]
    match = " AND ".join(f'"{term}"' for term in terms)
    if query.prefix:
        match += f' AND "{query.prefix}" *'
    return reader.db.rows(
        "SELECT word.rowid, e.conversation FROM word JOIN entry e ON e.position = word.rowid "
        "CROSS JOIN conversation c ON c.key = e.conversation "
        "WHERE word MATCH ? AND word.rowid <= ? AND e.tenant = ? AND c.id IS NOT NULL ORDER BY word.rowid DESC LIMIT ?",
        (match, bound, keys[0], words.CANDIDATES),
    )
