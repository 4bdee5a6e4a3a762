"""Searching in SQLite: from candidates of the index to a page of ranked hits. Runs in a thread of its own."""

from threadkeep.conversation.scope import Scope
from threadkeep.store.base import HitPage
from threadkeep.store.paging import Candidate, hit_page, search_after
from threadkeep.store.sqlite.index import candidates
from threadkeep.store.sqlite.place import Place
from threadkeep.store.sqlite.reading import Reader
from threadkeep.store.sqlite_file import translating_sqlite_errors
from threadkeep.text.search import Query


def search(reader: Reader, scope: Scope, text: str, conversation: str | None, limit: int, after: str | None) -> HitPage:
    """Return a page of the user's messages that match, the best first."""
    query = Query(text)
    offset, bound = search_after(scope, text, after)
    with translating_sqlite_errors(reader.db), reader.snapshot():
        only = reader.place(scope, conversation).conversation if conversation is not None else None
        newest = reader.db.value("SELECT coalesce(max(position), 0) FROM entry")
        bound = newest if bound is None else bound
        found = [_candidate(reader, scope, *row) for row in candidates(reader, scope, query, only, bound)]
        return hit_page(scope, text, query, found, limit, offset, bound)


def _candidate(reader: Reader, scope: Scope, position: int, conversation: int) -> Candidate:
    seq, tenant = reader.db.row("SELECT seq, tenant FROM entry WHERE position = ?", (position,))
    place = Place(tenant, conversation, reader.id(conversation), 0)
    return Candidate(
        entry=reader.entry(place, seq),
        title=lambda: reader.conversation(scope, place).title,
        tree=lambda: reader.tree(place),
    )
