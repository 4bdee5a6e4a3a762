"""The threads of a user as conversations: found, read, appended to.

What was read of a thread is kept, and brought up to date before it is used."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Kept
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidCursor, StoreUnavailable
from threadkeep_integrations.langgraph.thread import OF, PIECE, Thread
from threadkeep_integrations.raw_items import raw_items
from threadkeep_integrations.sessions import SessionLog

MOST = 128
"""How many threads are kept in memory."""
_PAGE = 200


class KnownThread:
    """A thread, its conversation, and what is being written to it."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.thread = Thread()
        self.putting = asyncio.Lock()
        self.writing: set[asyncio.Future[None]] = set()

    async def refreshed(self) -> Thread | None:
        """Return the thread with all that is in its log now; None if there is no such conversation."""
        for _ in range(3):  # it may be deleted, and made anew, at any time
            if (conversation := await self.log.found()) is None:
                break
            try:
                if await self._is_read(conversation):
                    return self.thread
            except ConversationNotFound:
                self.log.forget()
            except InvalidCursor:
                pass
            except StoreUnavailable:
                self.thread = Thread()
                raise
            self.thread = Thread()
        self.thread = Thread()
        return None

    async def _is_read(self, conversation: ConversationHandle) -> bool:
        """Read what is new, from the last entry that is known on; whether that is still the same."""
        thread = self.thread
        if not thread.seen:
            async for entry in conversation.reading.entries():
                thread.fold((entry,))
            return True
        while True:
            seen = thread.seen
            page = (await conversation.reading.log(Cursor(seq=seen - 1), limit=_PAGE)).entries
            if page[0].created_at != thread.at:
                return False
            thread.fold(page[1:])
            if len(page) < _PAGE:
                return True

    async def append(
        self, bodies: Sequence[Message | Kept], parent: int | None = None, title: str | None = None
    ) -> None:
        """Add to the log, and to what is known of it; `title` is for a new conversation."""
        self.log.call(title)
        self.thread.take(await self.log.append(bodies, parent=parent))


class Threads:
    """The threads of one user, by the names that an application gave them."""

    def __init__(
        self,
        conversations: Conversations,
        scope: Scope,
        known: OrderedDict[tuple[Scope, str], KnownThread] | None = None,
    ) -> None:
        self.conversations = conversations
        self._scope = scope
        self._known = OrderedDict[tuple[Scope, str], KnownThread]() if known is None else known

    def at(self, scope: Scope) -> "Threads":
        """Return the threads of another user."""
        return Threads(self.conversations, scope, self._known)

    def named(self, name: str) -> KnownThread:
        """Return the thread of this name, whether it exists or not."""
        key = (self._scope, name)
        if key not in self._known:
            self._known[key] = KnownThread(SessionLog(self.conversations, name, self._scope))
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    async def all(self) -> AsyncIterator[KnownThread]:
        """Yield all threads of the user, up to date; every conversation is looked at."""
        after: str | None = None
        while True:
            page = await self.conversations.list(scope=self._scope, limit=_PAGE, after=after, by_activity=True)
            for conversation in page.items:
                known = KnownThread(SessionLog(self.conversations, conversation.id, self._scope))
                thread = await known.refreshed()
                if thread is not None and thread.saved:
                    yield known
            if (after := page.next) is None:
                return

    async def delete(self, name: str) -> None:
        """Delete the conversation of a thread, with all that is in it."""
        known = self.named(name)
        self._known.pop((self._scope, name), None)
        with suppress(ConversationNotFound):
            if (conversation := await known.log.found()) is not None:
                await conversation.delete()

    async def copy(self, source: str, target: str, mark: Kept) -> None:
        """Append what is kept of one thread to another, its messages and their branches included."""
        conversation = await self.named(source).log.found()
        if conversation is None:
            return
        copying = _Copying(self.named(target))
        async for entry in conversation.reading.entries():
            await copying.add(entry)
        await copying.flush()
        await self.named(target).append((mark,))


class _Copying:
    """Entries on their way to another log: as many in one step as continue each other."""

    def __init__(self, target: KnownThread) -> None:
        self._target = target
        self._places: dict[int, int] = {}
        self._waiting: list[Entry] = []
        self._last: int | None = None

    async def add(self, entry: Entry) -> None:
        body = entry.body
        if isinstance(body, Message) and raw_items(body, OF) is not None:
            goes_on = self._last is None or entry.parent == self._last
            if len(self._waiting) >= _PAGE or not goes_on:
                await self.flush()
            self._last = entry.seq
            self._waiting.append(entry)
        elif isinstance(body, Kept) and body.of in (OF, PIECE):
            self._waiting.append(entry)

    async def flush(self) -> None:
        """Append what waits."""
        waiting, self._waiting = self._waiting, []
        first = next((entry for entry in waiting if isinstance(entry.body, Message)), None)
        bodies = [entry.body for entry in waiting if isinstance(entry.body, Message | Kept)]
        if bodies:
            parent = None if first is None else self._places.get(first.parent or 0)
            appended = await self._target.log.append(bodies, parent=parent)
            self._places |= {old.seq: new.seq for old, new in zip(waiting, appended, strict=False)}
