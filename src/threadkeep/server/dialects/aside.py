"""Answering aside: with the same assistants and models, on a store in memory that is thrown away.

The turns are the same as everywhere, so the three laws hold; there is only nobody who could come back to them.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from threadkeep.conversation.events import Event
from threadkeep.conversation_handle import ConversationHandle, TurnHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import TurnNotFound
from threadkeep.runtime import open_store
from threadkeep.store.base import Store

logger = logging.getLogger(__name__)


class Asides:
    """Opens stores beside those of some conversations, and throws each away when the stream of its turn ends."""

    def __init__(self, conversations: Conversations, max_bytes: int) -> None:
        self._conversations = conversations
        self._max_bytes = max_bytes
        self._ending: set[asyncio.Task[None]] = set()

    async def open(self) -> tuple[Conversations, Store]:
        """Return conversations in an empty store. Their turns count as any others do."""
        store = await open_store("memory:", max_bytes=self._max_bytes)
        return self._conversations.beside(store), store

    async def follow(
        self, conversation: ConversationHandle, turn: TurnHandle, store: Store
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens in a turn; when the reader leaves, the turn is stopped and its store goes."""
        try:
            async with aclosing(turn.events()) as events:
                async for event in events:
                    yield event
        finally:
            # A task of its own: whoever closes a stream may itself be cancelled, and could not wait here.
            task = asyncio.create_task(_end(conversation, store))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


async def _end(conversation: ConversationHandle, store: Store) -> None:
    try:
        with suppress(TurnNotFound):
            await conversation.cancel()
        await store.close()
    except Exception:
        logger.exception("a question that was asked aside did not end cleanly")
