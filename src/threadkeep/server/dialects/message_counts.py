"""How many messages a branch has, for dialects that tell it. A sum over the log, remembered; nothing depends on it."""

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.message import Message
from threadkeep.errors import EntryNotFound
from threadkeep.store.base import MAX_LIMIT, ROOT, Store

REMEMBERED = 10_000


class MessageCounts:
    """Counts the messages of current branches. A branch that has grown costs only what is new of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted: dict[tuple[str, str, str], tuple[int, int]] = {}

    async def of(self, conversation: Conversation) -> int:
        """Return the number of messages from the root to the head of a conversation."""
        # An id may come back after a deletion; the moment of creation does not.
        key = (conversation.scope.tenant, conversation.id, conversation.created_at.isoformat())
        try:
            counted = await self._further(conversation, *self._counted.get(key, (ROOT, 0)))
        except EntryNotFound:
            counted = await self._further(conversation, ROOT, 0)  # another branch was chosen
        if len(self._counted) >= REMEMBERED:
            self._counted.clear()
        self._counted[key] = counted
        return counted[1]

    async def _further(self, conversation: Conversation, seq: int, count: int) -> tuple[int, int]:
        """Count on from an entry of the branch with so many messages up to it."""
        while conversation.head is not None and seq != conversation.head:
            page = await self._store.after(
                conversation.scope, conversation.id, seq, limit=MAX_LIMIT, head=conversation.head
            )
            if not page:
                break
            count += sum(isinstance(entry.body, Message) for entry in page)
            seq = page[-1].seq
        return seq, count
