"""Pages, the same for every backend: limits, cursors of lists and searches, ranked hits, a branch read in pages."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import seal, unseal
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Tree
from threadkeep.errors import ConversationNotFound, InvalidCursor, InvalidLimit
from threadkeep.store.base import MAX_LIMIT, ROOT, WALKED, Store, characters
from threadkeep.store.codec import microseconds
from threadkeep.store.values import EVERY, ConversationPage, Hit, HitPage, ListFilter, Order
from threadkeep.text.query import Query, Subject, Terms
from threadkeep.text.search import CANDIDATES, Match, rank

MOST_WALKED = 500
MOST_HELD = 256 * 1024
"""A page has at most so many entries, and characters behind its first entry: who reads slowly has it held."""
LOOKED_AT = 2000
"""How many conversations, the last active first, a filtered list reads for one page."""
AMONG_FIRST, THE_OTHERS = "first.", "others"
"""What cursors of a list begin with as long as it shows those that stand first, and the one behind them."""
FIRST_PAGE = (2**62, 2**62)
LAST_PLACE = (-(2**62), 0)
Listed = tuple[Conversation, int]
"""A conversation as a list shows it, and the key by which a backend sorts equally active ones."""


class ListQuery(NamedTuple):
    """Which conversations a list asks for: of a user, or (whose is the tenant) of all, from before this activity and
    key on, the last active first."""

    whose: Scope | str
    where: ListFilter
    title: Terms
    before: tuple[int, int]
    limit: int

    @property
    def tenant(self) -> str:
        return self.whose if isinstance(self.whose, str) else self.whose.tenant

    @property
    def is_filtered(self) -> bool:
        """Whether many conversations may be left out, and not only those that stand first."""
        return not self.where.first and self.where.model_copy(update={"first": None}) != EVERY


class Listing(NamedTuple):
    """What a backend finds for a list, and the last place that it has looked at if it did not get to the end."""

    found: Sequence[Listed]
    reached: tuple[int, int] | None = None


def activity_cursor(whose: Scope | str, activity: int, key: int) -> str:
    """Return the cursor behind the conversation with this last activity and key, in the list of a user or a tenant."""
    return seal(f"{activity:x}.{key:x}", _list_of(whose))


def activity_after(whose: Scope | str, cursor: str | None) -> tuple[int, int]:
    """Return activity and key behind which a list goes on."""
    if cursor is None:
        return FIRST_PAGE
    activity, key = _numbers(cursor, _list_of(whose))
    return activity, key


def list_page(asked: ListQuery, listing: Listing) -> ConversationPage:
    """Return a page of conversations, of which one more than the page holds was looked for."""
    limit = asked.limit - 1
    items = tuple(conversation for conversation, _ in listing.found[:limit])
    end = activity(listing.found[limit - 1]) if len(listing.found) > limit else listing.reached
    return ConversationPage(items=items, next=None if end is None else activity_cursor(asked.whose, *end))


async def list_first_ones_first(
    store: Store, scope: Scope, where: ListFilter, limit: int, after: str | None
) -> ConversationPage:
    """Return a page of a user's list in which those that stand first come before the others."""
    items: tuple[Conversation, ...] = ()
    if after is None or after.startswith(AMONG_FIRST):
        among = None if after is None else after.removeprefix(AMONG_FIRST)
        page = await store.list(scope, where.model_copy(update={"first": True}), limit=limit, after=among)
        items, after = page.items, None
        if page.next is not None:
            return ConversationPage(items=items, next=AMONG_FIRST + page.next)
        if len(items) == limit:
            return ConversationPage(items=items, next=THE_OTHERS)
    rest, after = where.model_copy(update={"first": False}), None if after == THE_OTHERS else after
    page = await store.list(scope, rest, limit=limit - len(items), after=after)
    return ConversationPage(items=(*items, *page.items), next=page.next)


async def with_large_facts(store: Store, page: ConversationPage) -> ConversationPage:
    """Return a page with what lists leave out; one that was deleted meanwhile is left out itself."""
    items = []
    for item in page.items:
        with suppress(ConversationNotFound):
            items.append(await store.get(item.scope, item.id))
    return ConversationPage(items=tuple(items), next=page.next)


def activity(listed: Listed) -> tuple[int, int]:
    """Return what lists are sorted by: when the newest entry was stored, then the key."""
    return microseconds(listed[0].updated_at), listed[1]


def _list_of(whose: Scope | str) -> str:
    return f"list {whose}" if isinstance(whose, str) else f"list {whose.tenant} {whose.user}"


def search_after(scope: Scope, text: str, order: Order, cursor: str | None) -> tuple[int, int | None, int]:
    """Return how many hits were shown, and the position and the time beyond which newer ones are left out."""
    if cursor is None:
        return 0, None, FIRST_PAGE[0]
    offset, bound, latest = _numbers(cursor, _search_of(scope, text, order), 3)
    return offset, bound, latest


def _search_of(scope: Scope, text: str, order: Order) -> str:
    return f"search {scope.tenant} {scope.user} {order} {text}"


def _numbers(cursor: str, owner: str, count: int = 2) -> list[int]:
    try:
        numbers = [int(part, 16) for part in unseal(cursor, owner).split(".")]
    except ValueError:
        raise InvalidCursor from None
    if len(numbers) != count:
        raise InvalidCursor
    return numbers


class Candidate(NamedTuple):
    """A message that holds the words: what can be found of it, and its conversation and tree, which are read only if
    they are needed."""

    seq: int
    role: Role
    created_at: datetime
    text: str
    subject: Callable[[], Subject]
    tree: Callable[[], Tree]


def subject_of(conversation: Conversation) -> Subject:
    """Return what a search asks about a conversation."""
    return Subject(
        conversation.id, conversation.title, conversation.assistant, conversation.status, conversation.created_at
    )


class Matches(NamedTuple):
    """What an index finds for a query: entries up to a bound, and conversations, newest first. Both may hold some that
    the query does not accept."""

    entries: Iterable[Candidate]
    titles: Iterable[Subject]
    bound: int


class Search(NamedTuple):
    """What a search asks for: the page that begins with hit number `offset`, of entries up to `bound` (none: now) and
    titles of conversations created up to `latest`."""

    scope: Scope
    text: str
    query: Query
    conversation: str | None
    order: Order
    limit: int
    offset: int
    bound: int | None
    latest: int

    @property
    def finds_titles(self) -> bool:
        """Whether conversations are looked for, too."""
        return self.conversation is None and self.query.role is None


def hit_page(asked: Search, matches: Matches) -> HitPage:
    """Rank what matches and return the page of it that was asked for."""
    query = asked.query
    accepted = (one for one in matches.entries if query.accepts(one.role, one.created_at, one.subject))
    found: list[Candidate | Subject] = list(islice(accepted, CANDIDATES))
    titles = [
        one for one in matches.titles if query.accepts_title(one) and microseconds(one.created_at) <= asked.latest
    ]
    found = sorted([*found, *titles[:CANDIDATES]], key=attrgetter("created_at"), reverse=True)
    ranked = [(hit, one) for hit, one in zip(rank(query, map(_text, found)), found, strict=True) if hit is not None]
    if asked.order == "rank":
        ranked.sort(key=lambda pair: -pair[0].score)
    end = asked.offset + asked.limit
    page = tuple(_hit(one, hit) for hit, one in ranked[asked.offset : end])
    if len(ranked) <= end:
        return HitPage(items=page)
    latest = min(asked.latest, max((microseconds(title.created_at) for title in titles), default=0))
    owner = _search_of(asked.scope, asked.text, asked.order)
    return HitPage(items=page, next=seal(f"{end:x}.{matches.bound:x}.{latest:x}", owner))


def _text(found: Candidate | Subject) -> str:
    return found.title or "" if isinstance(found, Subject) else found.text


def _hit(candidate: Candidate | Subject, found: Match) -> Hit:
    subject = candidate if isinstance(candidate, Subject) else candidate.subject()
    shown: dict[str, Any] = {"snippet": found.snippet, "highlights": found.highlights, "score": found.score}
    shown |= {"conversation": subject.id, "title": subject.title, "created_at": candidate.created_at}
    if isinstance(candidate, Subject):
        return Hit(kind="title", **shown)
    return Hit(seq=candidate.seq, branch=candidate.tree().branch_with(candidate.seq), role=candidate.role, **shown)


def check_limit(limit: object) -> int:
    """Return a limit that is a whole number from 1 to `MAX_LIMIT`."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidLimit
    return limit


def check_position(seq: int, last: int) -> None:
    if not 0 <= seq <= last:
        raise InvalidCursor


async def walk(store: Store, scope: Scope, conversation: str, *, head: int | None = None) -> AsyncIterator[Entry]:
    """Yield the whole branch that ends in `head` (none: the current one) as it is now, oldest first, a page at a time;
    an append meanwhile is not seen. Pages grow while entries are small, so that a long branch takes few calls and what
    is held of it stays bounded."""
    if head is None:
        head = (await store.get(scope, conversation)).head
    seq, limit = ROOT, WALKED
    while head is not None and seq != head:
        page, limit = held(await store.after(scope, conversation, seq, limit=limit, head=head), limit)
        for entry in page:
            yield entry
        seq = page[-1].seq if page else head


def held(page: Sequence[Entry], limit: int) -> tuple[Sequence[Entry], int]:
    """Return a page without the entries behind `MOST_HELD` characters, of which the first one is always there, and how
    many entries to read after it: more while they are small, few where they are large."""
    sizes = list(map(characters, page))
    while len(sizes) > 1 and sum(sizes) > MOST_HELD:
        sizes.pop()
    fitting = len(sizes) * MOST_HELD // max(1, sum(sizes))
    return page[: len(sizes)], max(1, min(5 * limit, fitting, MOST_WALKED))


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
        entries = await store.newest(scope, conversation, before=entries[0].seq, limit=page)


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
