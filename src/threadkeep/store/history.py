"""A branch read back from its newest entry: every entry, or its newest messages. A limit counts what is returned, not
what was read to find it, because state changes stand between messages."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import WALKED, Store
from threadkeep.store.paging import check_limit


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
