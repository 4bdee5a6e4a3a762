"""What adapters of frameworks share: a session of theirs is a conversation of a user, by the id that they chose for it.

It is found or made when it is first needed, and read from its newest message on.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Kept
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, StoreUnavailable, ThreadkeepError
from threadkeep.store.paging import MOST_WALKED
from threadkeep.text.title import title_from_words
from threadkeep_integrations.records import Form

PAGE, NEARBY = 100, 8


class SessionLog:
    """The conversation behind one session of a framework."""

    def __init__(self, conversations: Conversations, session: str, scope: Scope = LOCAL, **fields: Any) -> None:
        self._conversations = conversations
        self._name = id_of(session)
        self._scope = scope
        self._fields = fields
        self._handle: ConversationHandle | None = None
        self._is_named = False

    @property
    def name(self) -> str:
        """The id of the conversation, as its user chose it."""
        return self._name

    async def conversation(self) -> ConversationHandle:
        """Return the conversation, which is made if there is none."""
        if self._handle is None:
            self._handle = await self._conversations.get_or_create(self._name, scope=self._scope, **self._fields)
        return self._handle

    def call(self, title: str | None) -> None:
        """Give a conversation a title that is yet to be made."""
        if title:
            self._fields.setdefault("title", title)

    def forget(self) -> None:
        """Look for the conversation again when it is needed: it was deleted."""
        self._handle, self._is_named = None, False

    async def found(self) -> ConversationHandle | None:
        """Return the conversation if there is one."""
        if self._handle is None:
            try:
                self._handle = await self._conversations.get(self._name, scope=self._scope)
            except ConversationNotFound:
                return None
        return self._handle

    async def append(
        self,
        messages: Sequence[Message | Kept],
        key: tuple[str, Sequence[Any]] | None = None,
        parent: int | None = None,
    ) -> tuple[Entry, ...]:
        """Add messages behind the newest, or another entry, in one step; with the same key, and what they were made of,
        only once. Return their entries."""
        for _ in range(2):  # it may have been deleted since
            conversation = await self.conversation()
            named = None if key is None else IdempotencyKey.of(f"append {conversation.id}", key[0], list(key[1]))
            try:
                added = await conversation.append(*messages, key=named, parent=parent)
            except ConversationNotFound:
                self.forget()
            else:
                await self._give_title(conversation, messages)
                return added
        raise ConversationNotFound

    async def extend(self, bodies: Sequence[Message | StateChange], head: int, **fields: Any) -> int:
        """Add entries behind the newest one if that is still `head` (0: there is none), in one step, and return the new
        head; `StaleHead` if it is not, `ConversationNotFound` if it was deleted. `fields` are for a new one."""
        self._fields |= fields
        conversation = await self.conversation()
        try:
            added = await conversation.append(*bodies, expected_head=head)
        except ConversationNotFound:
            self.forget()
            raise
        await self._give_title(conversation, bodies)
        return max(entry.seq for entry in added if entry.continues_branch)

    async def _give_title(self, conversation: ConversationHandle, bodies: Sequence[Any]) -> None:
        """Let a conversation without a title have one of the words of a first question, unless somebody changes it."""
        if self._is_named or conversation.value.title is not None:
            return
        asked = (body.content for body in bodies if isinstance(body, Message) and body.role is Role.USER)
        if title := next(filter(None, map(title_from_words, asked)), None):
            self._is_named = True
            with suppress(ThreadkeepError):  # what was said is stored, with a title or without
                await conversation.update(title=title, expected_version=conversation.value.version)

    async def whole(self) -> tuple[int, list[Message]]:
        """Return the newest entry (0: there is none), and all messages as of that one, oldest first."""
        entries = await self._walked(None)
        return entries[-1].seq if entries else 0, [entry.body for entry in entries if isinstance(entry.body, Message)]

    async def records(self, form: Form, limit: int | None = None) -> list[Any]:
        """Return the records of a form, oldest first, or only so many of the newest."""
        if limit is not None and limit <= 0:
            return []
        found = form.records([message for _, message in await self.entries(form.begun, limit)])
        return found if limit is None else found[-limit:]

    async def newest(self, read: Callable[[Message], Sequence[Any]]) -> tuple[Entry, Message] | None:
        """Return the newest message in which the framework reads something, with its entry."""
        found = await self.entries(read, 1)
        return found[0] if found and read(found[0][1]) else None

    async def entries(self, read: Callable[[Message], Sequence[Any]], limit: int | None) -> list[tuple[Entry, Message]]:
        """Return messages with their entries, oldest first: all, or those with so many of the newest items."""
        left = limit

        def is_enough(entry: Entry) -> bool:
            nonlocal left
            if left is not None and isinstance(entry.body, Message):
                left -= len(read(entry.body))
            return left is not None and left <= 0

        page = MOST_WALKED if limit is None else min(limit + NEARBY, MOST_WALKED)
        entries = await self._walked(is_enough, page)
        return [(entry, entry.body) for entry in entries if isinstance(entry.body, Message)]

    async def _walked(self, is_enough: Callable[[Entry], bool] | None, page: int = MOST_WALKED) -> list[Entry]:
        """Return the branch, oldest entry first, from that one on with which it is enough."""
        taken = list[Entry]()
        if (conversation := await self.found()) is None:
            return taken
        with suppress(ConversationNotFound):  # it was deleted since
            async with aclosing(conversation.reading.backwards(page=page)) as entries:
                async for entry in entries:
                    taken.append(entry)
                    if is_enough is not None and is_enough(entry):
                        break
                else:
                    await self.check_whole(conversation)
        return taken[::-1]

    async def check_whole(self, conversation: ConversationHandle) -> None:
        """Return if a whole log can be read; `StoreUnavailable` if, in an outage, only its end is known here. A session
        without its beginning is another one."""
        if self._conversations.operations.outage() is None:
            return
        first = (await conversation.reading.log(Cursor(seq=0), limit=1)).entries
        if first[0].seq > 1 if first else (await conversation.read()).head is not None:
            raise StoreUnavailable("The database is away, and only the end of this session is known here.")


async def all_conversations(conversations: Conversations, **how: Any) -> AsyncIterator[Conversation]:
    """Yield all conversations of a list, page by page, as a whole."""
    after = None
    while True:
        page = await conversations.list(limit=PAGE, after=after, by_activity=True, whole=True, **how)
        for found in page.items:
            yield found
        if (after := page.next) is None:
            return


async def all_of_tenant(conversations: Conversations, tenant: str, **how: Any) -> AsyncIterator[Conversation]:
    """Yield all conversations of a list of all users of a tenant, page by page, as a whole."""
    after = None
    while True:
        page = await conversations.admin.list(tenant, limit=PAGE, after=after, **how)
        for found in page.items:
            with suppress(ConversationNotFound):
                yield await conversations.at(found.scope, found.id).read()
        if (after := page.next) is None:
            return
