"""Lists of conversations in SQLite: by the last activity that is derived, and by what has not followed yet."""

from collections.abc import Callable

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Status
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import ConversationPage, Statistics
from threadkeep.store.codec import microseconds
from threadkeep.store.paging import activity_after, activity_cursor
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.reading import Reader

Found = list[tuple[Conversation, int]]


def list_user(
    reader: Reader, scope: Scope, assistant: str | None, status: Status | None, limit: int, after: str | None
) -> ConversationPage:
    """Return a page of a user's conversations, the last active first."""
    before = activity_after(scope, after)
    late = index.late_activity(reader, *keys) if (keys := reader.scope(scope)) else {}
    derived = reader.conversations(scope, before, assistant, status, limit + 1 + len(late))
    found = _merged(derived, late, before, lambda key: reader.listed(scope.tenant, key))
    asked = [(one, key) for one, key in found if assistant in (None, one.assistant) and status in (None, one.status)]
    return _page(scope, asked, limit)


def list_tenant(reader: Reader, tenant: str, limit: int, after: str | None) -> ConversationPage:
    """Return a page of the conversations of all users of a tenant."""
    before = activity_after(tenant, after)
    key = reader.db.value("SELECT key FROM tenant WHERE name = ?", (tenant,))
    late = index.late_activity(reader, key, None) if key is not None else {}
    derived = reader.conversations_of_all(tenant, before, limit + 1 + len(late))
    found = _merged(derived, late, before, lambda key: reader.listed(tenant, key))
    return _page(tenant, found, limit)


def count(reader: Reader, tenant: str, user: str | None) -> Statistics:
    """Return how much a tenant, or one user of it, has stored."""
    found = reader.db.row(
        "SELECT t.key, u.key FROM tenant t LEFT JOIN user u ON u.tenant = t.key AND u.name = ?2 WHERE t.name = ?1",
        (tenant, user),
    )
    if found is None or (user is not None and found[1] is None):
        return Statistics()
    conversations, entries, size = reader.db.row(
        "SELECT count(*), coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM conversation "
        "WHERE tenant = ?1 AND (?2 IS NULL OR user = ?2) AND id IS NOT NULL",
        found,
    )
    late, late_size = index.late_size(reader, *found)
    return Statistics(conversations=conversations, entries=entries + late, bytes=size + late_size)


def _merged(
    derived: Found, late: dict[int, int], before: tuple[int, int], read: Callable[[int], Conversation]
) -> Found:
    """Return the derived ones that are up to date, and the late ones at their places, the last active first."""
    found = [(conversation, key) for conversation, key in derived if key not in late]
    found += [(read(key), key) for key, activity in late.items() if (activity, key) < before]
    return sorted(found, key=_activity, reverse=True)


def _activity(found: tuple[Conversation, int]) -> tuple[int, int]:
    return microseconds(found[0].updated_at), found[1]


def _page(whose: Scope | str, found: Found, limit: int) -> ConversationPage:
    """Return a page of conversations, of which one more than the page holds was looked for."""
    items = tuple(conversation for conversation, _ in found[:limit])
    if len(found) <= limit:
        return ConversationPage(items=items)
    return ConversationPage(items=items, next=activity_cursor(whose, *_activity(found[limit - 1])))
