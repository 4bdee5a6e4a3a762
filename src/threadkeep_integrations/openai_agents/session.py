"""A `Session` of the OpenAI Agents SDK on a conversation: what its runs say is kept, shown, searched and exported here.

The SDK saves at the end of what it does, so a run that a process did not survive leaves what was saved before. A run
that is a turn, streamed and resumed, is in `running`.
"""

from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep_integrations.openai_agents.items import Item, fields_of, items_of, message_of, messages_of
from threadkeep_integrations.sessions import SessionLog


class AgentsSession:
    """The history of a session. Its id names the conversation of the user `scope`, which is made with the first items;
    `session_settings` are the SDK's own (a limit)."""

    def __init__(
        self,
        conversations: Conversations,
        session_id: str,
        *,
        scope: Scope = LOCAL,
        session_settings: Any = None,
        **fields: Any,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._log = SessionLog(conversations, session_id, scope, **fields)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the items, oldest first, or only so many of the newest."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._log.items(items_of, limit)

    async def add_items(self, items: Sequence[Any], *, key: str | None = None) -> None:
        """Add items in one step; with the same `key` only once."""
        if items:
            given = [fields_of(item) for item in items]
            await self._log.append(messages_of(given), None if key is None else (key, given))

    async def pop_item(self) -> Item | None:
        """Take back the newest item and return it. It stays in the log, on a branch of its own."""
        newest = await self._log.newest(items_of)
        if newest is None:
            return None
        (entry, message), conversation = newest, await self._log.conversation()
        *left, popped = items_of(message)
        if left:
            await self._log.append([message_of(left)], parent=entry.parent or 0)
        else:
            await conversation.choose_head(entry.parent or 0)
        return popped

    async def clear_session(self) -> None:
        """Begin anew: what was said so far stays in the log, on a branch of its own."""
        if (conversation := await self._log.found()) is not None:
            await conversation.clear()
