"""A `Session` of the OpenAI Agents SDK on a conversation: what its runs say is kept, shown, searched and exported here.

The SDK saves at the end of what it does, so a run that a process did not survive leaves what was saved before. A run
that is a turn, streamed and resumed, is in `running`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import StaleHead, StaleVersion
from threadkeep_integrations.openai_agents.items import FORM, Item, fields_of, messages_of
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
        return await self._log.records(FORM, limit)

    async def add_items(self, items: Sequence[Any], *, key: str | None = None) -> None:
        """Add items in one step; with the same `key` only once."""
        if items:
            given = [fields_of(item) for item in items]
            await self._log.append(messages_of(given), None if key is None else (key, given))

    async def pop_item(self) -> Item | None:
        """Take back the newest item and return it. It stays in the log, on a branch of its own."""
        while (conversation := await self._log.found()) is not None:
            known = await conversation.read()
            newest = await self._log.entries(FORM.begun, 1)
            items = FORM.records(message for _, message in newest)
            if not items:
                break
            before = newest[0][0].parent or 0
            with suppress(StaleHead, StaleVersion):  # somebody else has added an item, or taken this one back
                if left := messages_of(items[:-1]):
                    await conversation.append(*left, parent=before, expected_head=known.head)
                else:
                    await conversation.choose_head(before, expected_version=known.version)
                return dict(items[-1])
        return None

    async def clear_session(self) -> None:
        """Begin anew: what was said so far stays in the log, on a branch of its own."""
        if (conversation := await self._log.found()) is not None:
            await conversation.clear()
