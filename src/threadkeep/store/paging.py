"""Pages, the same for every backend: limits, cursors of lists and searches, ranked hits, a branch read in pages."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import seal, unseal
from threadkeep.conversation.entry import Entry, Status
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Tree
from threadkeep.errors import InvalidCursor, InvalidLimit, StoreCorrupt
from threadkeep.store.base import MAX_LIMIT, WALKED, Store
from threadkeep.store.codec import microseconds
from threadkeep.store.values import ConversationPage, Hit, HitPage
from threadkeep.text.search import Found, Query, rank
from threadkeep.text.words import searchable

FIRST_PAGE = (2**62, 2**62)
Listed = tuple[Conversation, int]
"""A conversation as a list shows it, and the key by which a backend tells equally active ones apart."""


class ListQuery(NamedTuple):
    """Which conversations a list asks for: of a user, or (whose is the tenant) of all, from before this activity and
    key on, the last active first."""

    whose: Scope | str
    assistant: str | None
    status: Status | None
    before: tuple[int, int]
    limit: int

    @property
    def tenant(self) -> str:
        return self.whose if isinstance(self.whose, str) else self.whose.tenant

    def accepts(self, conversation: Conversation) -> bool:
        """Whether assistant and status are those that are asked for."""
        return self.assistant in (None, conversation.assistant) and self.status in (None, conversation.status)


def activity_cursor(whose: Scope | str, activity: int, key: int) -> str:
    """Return the cursor behind the conversation with this last activity and key, in the list of a user or a tenant."""
    return seal(f"{activity:x}.{key:x}", _list_of(whose))


def activity_after(whose: Scope | str, cursor: str | None) -> tuple[int, int]:
    """Return activity and key behind which a list goes on."""
    return FIRST_PAGE if cursor is None else _numbers(cursor, _list_of(whose))


def list_page(whose: Scope | str, found: Sequence[Listed], limit: int) -> ConversationPage:
    """Return a page of conversations, of which one more than the page holds was looked for."""
    items = tuple(conversation for conversation, _ in found[:limit])
    if len(found) <= limit:
        return ConversationPage(items=items)
    return ConversationPage(items=items, next=activity_cursor(whose, *activity(found[limit - 1])))


def activity(listed: Listed) -> tuple[int, int]:
    """Return what lists are sorted by: when the newest entry was stored, then the key."""
    return microseconds(listed[0].updated_at), listed[1]


def _list_of(whose: Scope | str) -> str:
    return f"list {whose}" if isinstance(whose, str) else f"list {whose.tenant} {whose.user}"


def search_after(scope: Scope, text: str, cursor: str | None) -> tuple[int, int | None]:
    """Return how many hits were shown, and the position beyond which newer entries are left out; none at first."""
    return (0, None) if cursor is None else _numbers(cursor, f"search {scope.tenant} {scope.user} {text}")


def _numbers(cursor: str, owner: str) -> tuple[int, int]:
    try:
        first, second = (int(part, 16) for part in unseal(cursor, owner).split("."))
    except ValueError:
        raise InvalidCursor from None
    return first, second


class Candidate(NamedTuple):
    """An entry that holds the words, with its conversation's title and tree, which are read only if it is shown."""

    entry: Entry
    title: Callable[[], str | None]
    tree: Callable[[], Tree]


def hit_page(
    scope: Scope, text: str, query: Query, candidates: Sequence[Candidate], limit: int, offset: int, bound: int
) -> HitPage:
    """Rank the candidates (newest first) and return the page of them that begins with hit number `offset`."""
    ranked = rank(query, (searchable(candidate.entry.body) for candidate in candidates))
    found = [(hit, candidate) for hit, candidate in zip(ranked, candidates, strict=True) if hit is not None]
    found.sort(key=lambda pair: -pair[0].score)
    page = tuple(_hit(candidate, hit) for hit, candidate in found[offset : offset + limit])
    if len(found) <= offset + limit:
        return HitPage(items=page)
    owner = f"search {scope.tenant} {scope.user} {text}"
    return HitPage(items=page, next=seal(f"{offset + limit:x}.{bound:x}", owner))


def _hit(candidate: Candidate, found: Found) -> Hit:
    entry = candidate.entry
    if not isinstance(entry.body, Message):
        raise StoreCorrupt("The search index names an entry that is no message.")
    return Hit(
        conversation=entry.conversation,
        title=candidate.title(),
        seq=entry.seq,
        branch=candidate.tree().branch_with(entry.seq),
        role=entry.body.role,
        created_at=entry.created_at,
        score=found.score,
        snippet=found.snippet,
        highlights=found.highlights,
    )


def check_limit(limit: object) -> int:
    """Return a limit that is a whole number from 1 to `MAX_LIMIT`."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidLimit
    return limit


def check_position(seq: int, last: int) -> None:
    if not 0 <= seq <= last:
        raise InvalidCursor


async def backwards(
    store: Store, scope: Scope, conversation: str, *, head: int | None = None, page: int = WALKED
) -> AsyncGenerator[Entry, None]:
    """Yield the branch that ends in `head` (none: the current one), the newest entry first, read in such pages."""
    entries = await store.newest(scope, conversation, limit=page, head=head)
    while entries:
        for entry in reversed(entries):
            yield entry
        if entries[0].parent is None:
            return
        entries = await store.before(scope, conversation, entries[0].seq, limit=page)


async def newest_messages(
    store: Store, scope: Scope, conversation: str, *, limit: int | None = 10, head: int | None = None
) -> list[tuple[Entry, Message]]:
    """Return the newest messages of a branch (`limit` none: all of them) with their entries, oldest first."""
    page = WALKED if limit is None else max(check_limit(limit), WALKED)
    found: list[tuple[Entry, Message]] = []
    async with aclosing(backwards(store, scope, conversation, head=head, page=page)) as entries:
        async for entry in entries:
            if isinstance(entry.body, Message):
                found.append((entry, entry.body))
                if len(found) == limit:
                    break
    return found[::-1]
