"""What adapters of frameworks share: a session of theirs is a conversation of a user, by the id that they chose for it.

It is found or made when it is first needed, and read from its newest message on.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound
from threadkeep.store.paging import MOST_WALKED


class SessionLog:
    """The conversation behind one session of a framework."""

    def __init__(self, conversations: Conversations, session: str, scope: Scope = LOCAL, **fields: Any) -> None:
        self._conversations = conversations
        self._name = id_of(session)
        self._scope = scope
        self._fields = fields
        self._handle: ConversationHandle | None = None

    async def conversation(self) -> ConversationHandle:
        """Return the conversation, which is made if there is none."""
        if self._handle is None:
            self._handle = await self._conversations.get_or_create(self._name, scope=self._scope, **self._fields)
        return self._handle

    async def found(self) -> ConversationHandle | None:
        """Return the conversation if there is one."""
        if self._handle is None:
            try:
                self._handle = await self._conversations.get(self._name, scope=self._scope)
            except ConversationNotFound:
                return None
        return self._handle

    async def append(
        self, messages: Sequence[Message], key: tuple[str, Sequence[Any]] | None = None, parent: int | None = None
    ) -> None:
        """Add messages behind the newest, or another entry, in one step; with the same key, and what they were made of,
        only once."""
        for _ in range(2):  # it may have been deleted since
            conversation = await self.conversation()
            named = None if key is None else IdempotencyKey.of(f"append {conversation.id}", key[0], list(key[1]))
            try:
                await conversation.append(*messages, key=named, parent=parent)
            except ConversationNotFound:
                self._handle = None
            else:
                return
        raise ConversationNotFound

    async def newest(self, read: Callable[[Message], Sequence[Any]]) -> tuple[Entry, Message] | None:
        """Return the newest message in which the framework reads something, with its entry."""
        found = await self.entries(read, 1)
        return found[0] if found and read(found[0][1]) else None

    async def items(self, read: Callable[[Message], Sequence[Any]], limit: int | None = None) -> list[Any]:
        """Return what the framework reads in the messages, oldest first, or only so many of the newest."""
        if limit is not None and limit <= 0:
            return []
        found = [item for _, message in await self.entries(read, limit) for item in read(message)]
        return found if limit is None else found[-limit:]

    async def entries(self, read: Callable[[Message], Sequence[Any]], limit: int | None) -> list[tuple[Entry, Message]]:
        """Return messages with their entries, oldest first: all, or those with so many of the newest items."""
        conversation, taken, left = await self.found(), list[tuple[Entry, Message]](), limit
        if conversation is None:
            return []
        page = MOST_WALKED if limit is None else min(limit + 1, MOST_WALKED)
        with suppress(ConversationNotFound):  # it was deleted since
            async with aclosing(conversation.reading.backwards(page=page)) as entries:
                async for entry in entries:
                    if isinstance(entry.body, Message):
                        taken.append((entry, entry.body))
                        left = None if left is None else left - len(read(entry.body))
                    if left is not None and left <= 0:
                        break
        return taken[::-1]
