"""How many messages a branch has, for dialects that tell it.

The store counts them. What it said is remembered, so that a list in which nothing happened is told without asking
again; nothing depends on that.
"""

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversations import Conversations
from threadkeep.errors import EntryNotFound
from threadkeep.store.base import ROOT

REMEMBERED = 10_000


class MessageCounts:
    """Counts the messages of current branches. A branch that has grown is counted from where it was."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._counted: dict[tuple[str, str, str], tuple[int, int]] = {}

    async def of(self, conversation: Conversation) -> int:
        """Return the number of messages from the root to the head of a conversation."""
        if conversation.head is None:
            return 0
        # An id may come back after a deletion; the moment of creation does not.
        key = (conversation.scope.tenant, conversation.id, conversation.created_at.isoformat())
        head, count = self._counted.get(key, (ROOT, 0))
        if head != conversation.head:
            count = await self._count(conversation, head, count)
            if len(self._counted) >= REMEMBERED:
                self._counted.clear()
            self._counted[key] = (conversation.head, count)
        return count

    async def _count(self, conversation: Conversation, seq: int, count: int) -> int:
        """Count on from an entry with so many messages up to it; from the root if it is not on the branch any more."""
        handle, head = self._conversations.at(conversation.scope, conversation.id), conversation.head
        try:
            return count + await handle.count(head=head, after=seq)
        except EntryNotFound:
            return await handle.count(head=head)
