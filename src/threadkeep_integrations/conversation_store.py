"""Conversations from synchronous code: create, add messages, read them back, as plain values or as LangChain's.

A thin wrapper of `Conversations`, which runs in a thread of its own. Nothing is answered and no model is called here:
use `threadkeep.open` for that.
"""

from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Required, Self, TypedDict, TypeVar

from threadkeep.conversation.clock import second_text
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.value import checked
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import PackageMissing, StoreUnavailable
from threadkeep.runtime import open_unanswered
from threadkeep.settings import Settings
from threadkeep.store.paging import check_limit
from threadkeep_integrations.loop_thread import LoopThread

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from threadkeep_integrations.langchain.history import LangChainHistory as LangchainHistory
else:
    BaseMessage = LangchainHistory = object  # an optional package, and slow to import

T = TypeVar("T")
WANTED = "LangChain's messages need a package: pip install 'threadkeep[langchain]'"
_PAGE = 100


class StoredMessage(TypedDict, total=False):
    """A message in the form of the documents of the store `files:`, with its calls and blocks."""

    role: Required[str]
    content: Required[str]
    timestamp: Required[str]
    tool_calls: list[dict[str, Any]]
    tool_call_id: str
    blocks: list[dict[str, Any]]


class StoredConversation(TypedDict):
    """A conversation in a list, with the field names of those documents."""

    session_id: str
    title: str | None
    created_at: str
    updated_at: str


History = list[StoredMessage]
LangchainMessages = list[BaseMessage]
Conversations = list[StoredConversation]


class ConversationStore:
    """The conversations of one user in a store. Safe to be used by several threads; close it, or use it in `with`."""

    @checked
    def __init__(self, url: str = "files:", *, storage_dir: str | Path | None = None, scope: Scope = LOCAL) -> None:
        """Open the store behind a URL, or the folder `storage_dir` (data/sessions unless given)."""
        folder = {} if storage_dir is None else {"storage_dir": str(storage_dir)}
        address = Settings.model_validate({"store": url, **folder}).store
        self._scope = scope
        self._background = LoopThread()
        try:
            self._conversations = self._run(open_unanswered(address))
        except BaseException:
            self._background.close()
            raise

    @checked
    def create(self, id: str | None = None, *, title: str | None = None, assistant: str | None = None) -> str:
        """Create a conversation and return its id; AlreadyExists if there is one with this id."""
        creating = self._conversations.create(scope=self._scope, id=id, title=title, assistant=assistant)
        return self._run(creating).id

    def _at(self, conversation: str) -> ConversationHandle:
        """Return a handle on a conversation, by its id or the one that was chosen for it."""
        return self._conversations.at(self._scope, self._scope.id_named(conversation))

    @checked
    def add_message(
        self,
        conversation: str,
        role: str,
        content: str,
        *,
        tool_calls: Sequence[Mapping[str, Any]] = (),
        tool_call_id: str | None = None,
    ) -> StoredMessage:
        """Add a message after the newest one; it is durable when this returns.

        `tool_calls` (`id`, `name`, `args`) are an assistant's; a tool message names the `tool_call_id` that it answers.
        """
        result = None if tool_call_id is None else {"tool_call_id": tool_call_id}
        fields = {"role": role, "content": content, "tool_calls": tuple(tool_calls), "tool_result": result}
        message = Message.model_validate(fields)
        entries = self._run(self._at(conversation).append(message))
        return _stored(entries[0], message)

    @checked
    def get_history(self, conversation: str, limit: int | None = 10) -> History:
        """Return the newest messages (None: all of them), oldest first."""
        return [_stored(entry, message) for entry, message in self._newest(conversation, limit)]

    @checked
    def get_langchain_messages(self, conversation: str, limit: int | None = 10) -> LangchainMessages:
        """Return the newest messages as LangChain's, oldest first. They never begin with the result of a tool whose
        call was left out, which no provider accepts."""
        try:
            from threadkeep_integrations.langchain.messages import to_langchain
        except ImportError:
            raise PackageMissing(WANTED) from None
        messages = [message for _, message in self._newest(conversation, limit)]
        return to_langchain(dropwhile(lambda message: message.role is Role.TOOL, messages))

    @checked
    def langchain_history(self, conversation: str) -> LangchainHistory:
        """Return a conversation as a `BaseChatMessageHistory` of LangChain; it is made with the first message."""
        try:
            from threadkeep_integrations.langchain.history import LangChainHistory
        except ImportError:
            raise PackageMissing(WANTED) from None
        return LangChainHistory(self._conversations, conversation, scope=self._scope, run=self._run)

    @checked
    def list(self, limit: int | None = None) -> Conversations:
        """Return the conversations (None: all of them), the one with the newest entry first."""
        return [_listed(conversation) for conversation in self._run(self._list(limit))]

    @checked
    def delete(self, conversation: str) -> None:
        """Delete a conversation. A server on this store, or `threadkeep.open`, purges it a while later."""
        self._run(self._at(conversation).delete())

    def close(self) -> None:
        """Finish every accepted write and release the store. A second call does nothing."""
        with suppress(CancelledError):
            self._background.run(self._conversations.close())
        self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._background.run(work)
        except CancelledError:
            raise StoreUnavailable("The store is closed, or was opened before this process was forked.") from None

    def _newest(self, conversation: str, limit: int | None) -> Sequence[tuple[Entry, Message]]:
        return self._run(self._at(conversation).reading.message_entries(limit=limit))

    async def _list(self, limit: int | None) -> Sequence[Conversation]:
        page = await self._conversations.list(scope=self._scope, limit=_PAGE if limit is None else check_limit(limit))
        found = [*page.items]
        while limit is None and page.next is not None:
            page = await self._conversations.list(scope=self._scope, limit=_PAGE, after=page.next)
            found += page.items
        return found


def _stored(entry: Entry, message: Message) -> StoredMessage:
    stored = StoredMessage(role=message.role.value, content=message.content, timestamp=second_text(entry.created_at))
    dumped = message.model_dump(mode="json", include={"tool_calls", "blocks"}, exclude_defaults=True)
    if message.tool_result is not None:
        stored["tool_call_id"] = message.tool_result.tool_call_id
    stored.update(dumped)  # type: ignore[typeddict-item]
    return stored


def _listed(conversation: Conversation) -> StoredConversation:
    return StoredConversation(
        session_id=conversation.id,
        title=conversation.title,
        created_at=second_text(conversation.created_at),
        updated_at=second_text(conversation.updated_at),
    )
