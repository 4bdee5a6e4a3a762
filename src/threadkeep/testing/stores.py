"""How a test gets at a store: handles on the same data, and everything that can be seen of it at one moment."""

from collections.abc import Awaitable, Callable
from typing import Any

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import Store
from threadkeep.store.values import Draft

OpenAnother = Callable[[], Awaitable[Store]]
"""Opens one more handle on the data of the test, with the clock of the test."""


async def whole_log(store: Store, scope: Scope, conversation: str) -> tuple[tuple[Entry, ...], Draft | None]:
    """Return all entries of a conversation, read page by page, and what is being written at their end."""
    entries: list[Entry] = []
    while True:
        page = await store.log(scope, conversation, Cursor(seq=entries[-1].seq if entries else 0), limit=1000)
        entries += page.entries
        if len(page.entries) < 1000:
            return tuple(entries), page.draft


async def everything(store: Store, *scopes: Scope) -> list[Any]:
    """Return all that these users can see: two results are equal if, and only if, nothing was changed in between."""
    seen: list[Any] = []
    for scope in scopes:
        seen.append(await store.operations.statistics(scope.tenant, user=scope.user))
        after = None
        while True:
            page = await store.list(scope, limit=1000, after=after)
            for conversation in page.items:
                place = (scope, conversation.id)
                seen.append(
                    (
                        conversation,
                        (await store.snapshot(*place)).tree,
                        await store.turns(*place),
                        await whole_log(store, *place),
                    )
                )
            after = page.next
            if after is None:
                break
    return seen
