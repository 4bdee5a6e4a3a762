"""What is stored, on its way out: the conversations of a person, a tenant or a whole store, and the log of each.

The order is that of the list, the newest activity first, and by name where that is equal, so that two stores with the
same conversations give the same bytes. A conversation that is written to meanwhile moves up in the list; so at the end
those that moved are given once more, and none is left out.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import WALKED, Store
from threadkeep.store.paging import held
from threadkeep.store.values import ConversationPage
from threadkeep.transfer.portable import Header

EXPORTED = "conversations.exported"
LISTED = 100
ROUNDS = 5
"""How often conversations are looked for that moved while the others were exported."""


class Selection(NamedTuple):
    """What to export: one conversation of a user, all of a user, all of a tenant, or everything."""

    tenant: str | None = None
    user: str | None = None
    conversation: str | None = None

    @property
    def concerned(self) -> str:
        """What the audit log is to say was exported."""
        if self.conversation is not None:
            return f"conversation:{self.conversation}"
        return f"tenant:{self.tenant}" if self.user is None else f"user:{self.user}"

    def header(self, conversation: Conversation) -> Header:
        """Return the header of a conversation, with whose it is where that is not clear."""
        return Header.of_scope(conversation, tenant=self.tenant is None, user=self.user is None)


async def select(store: Store, selection: Selection) -> AsyncIterator[Conversation]:
    """Yield the conversations that are selected."""
    tenants = await store.operations.tenants() if selection.tenant is None else (selection.tenant,)
    for tenant in tenants:
        if selection.conversation is not None and selection.user is not None:
            yield await store.get(Scope(tenant=tenant, user=selection.user), selection.conversation)
            continue
        whose = tenant if selection.user is None else Scope(tenant=tenant, user=selection.user)
        async for listed in _listed(store, whose):
            with suppress(ConversationNotFound):  # it was deleted meanwhile
                yield await store.get(listed.scope, listed.id)


async def _listed(store: Store, whose: Scope | str) -> AsyncIterator[Conversation]:
    since: datetime | None = None
    for _ in range(ROUNDS):
        newest = since
        async for group in _groups(store, whose, since):
            newest = group[0].updated_at if newest == since else newest
            for conversation in sorted(group, key=lambda each: (each.scope.user, each.id)):
                yield conversation
        if newest == since:
            return
        since = newest


async def _groups(store: Store, whose: Scope | str, since: datetime | None) -> AsyncIterator[Sequence[Conversation]]:
    """Yield conversations with the same time of their newest entry together, down to a time."""
    group: list[Conversation] = []
    after: str | None = None
    while True:
        page = await store.list(whose, limit=LISTED, after=after)
        for conversation in page.items:
            if since is not None and conversation.updated_at <= since:
                page = ConversationPage(items=())
                break
            if group and group[0].updated_at != conversation.updated_at:
                yield group
                group = []
            group.append(conversation)
        after = page.next
        if after is None:
            break
    if group:
        yield group


async def pages_of(store: Store, conversation: Conversation) -> AsyncIterator[Sequence[Entry]]:
    """Yield the log in pages as it was when the conversation was read; what came later is left out."""
    seq, limit = 0, WALKED
    while seq < conversation.entries:
        found = await store.log(conversation.scope, conversation.id, Cursor(seq=seq), limit=limit)
        page, limit = held(found.entries, limit)
        yield page if page[-1].seq <= conversation.entries else page[: conversation.entries - seq]
        seq = page[-1].seq


async def log_of(store: Store, conversation: Conversation) -> AsyncIterator[Entry]:
    """Yield the entries of `pages_of` one by one."""
    async for page in pages_of(store, conversation):
        for entry in page:
            yield entry
