"""A `BaseChatMessageHistory` of LangChain on a conversation: `RunnableWithMessageHistory` keeps what is said here.

Messages come back as they were given. What is said elsewhere in the conversation (on the page, by an assistant of ours)
is in the history too.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, message_to_dict, messages_from_dict

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, UnknownRole
from threadkeep_integrations.langchain.messages import from_langchain, text_of, to_langchain
from threadkeep_integrations.records import Form
from threadkeep_integrations.sessions import SessionLog

T = TypeVar("T")
_ROLES = {"user": Role.USER, "human": Role.USER, "system": Role.SYSTEM}


class LangChainHistory(BaseChatMessageHistory):
    """The history of a session, which is the conversation of that name. The synchronous verbs are for other threads
    than the one in which the conversations are: `run` runs something there, unless that is where this is made."""

    def __init__(
        self,
        conversations: Conversations,
        session_id: str,
        *,
        scope: Scope = LOCAL,
        run: Callable[[Coroutine[Any, Any, Any]], Any] | None = None,
        **fields: Any,
    ) -> None:
        self._log = SessionLog(conversations, session_id, scope, **fields)
        self._loop = None if run is not None else asyncio.get_running_loop()
        self._run = run or self._from_a_thread

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # a field there, which nothing sets
        """All messages, oldest first."""
        found: list[BaseMessage] = self._run(self._read())
        return found

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first."""
        return await self._awaited(self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages in one step."""
        self._run(self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages in one step."""
        await self._awaited(self._add(messages))

    def clear(self) -> None:
        """Begin anew: what was said so far stays in the log, on a branch of its own."""
        self._run(self._clear())

    async def aclear(self) -> None:
        """Begin anew: what was said so far stays in the log, on a branch of its own."""
        await self._awaited(self._clear())

    async def _read(self) -> list[BaseMessage]:
        return messages_from_dict(await self._log.records(FORM))

    async def _add(self, messages: Sequence[BaseMessage]) -> None:
        if messages:
            await self._log.append([each for message in messages for each in _messages_of(message)])

    async def _clear(self) -> None:
        if (conversation := await self._log.found()) is not None:
            await conversation.clear()

    async def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.to_thread(self._run, work)

    def _from_a_thread(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None or running is self._loop:  # it would wait for itself
            work.close()
            raise InvalidValue("Asynchronous programs use aget_messages, aadd_messages and aclear.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _messages_of(given: BaseMessage) -> list[Message]:
    """Return a message of LangChain's as ours; what does not follow from it is kept beside it."""
    plainest = _said(given)
    return [plainest] if _given(plainest) == given else FORM.messages([message_to_dict(given)])


def _said(given: BaseMessage) -> Message:
    try:
        (message,) = from_langchain([given])
    except UnknownRole:
        role = _ROLES.get(given.role.lower(), Role.ASSISTANT) if isinstance(given, ChatMessage) else Role.ASSISTANT
        message = Message(role=role, content=text_of(given.content))
    fields: dict[str, Any] = {"id": new_id()}
    if isinstance(given, AIMessage):
        model = given.response_metadata.get("model_name") or given.response_metadata.get("model")
        fields |= {"model": model if isinstance(model, str) else None, "usage": _usage(given)}
    return message.model_copy(update=fields)


def _usage(given: AIMessage) -> Usage | None:
    if (counted := given.usage_metadata) is None:
        return None
    cached = counted.get("input_token_details", {}).get("cache_read") or 0
    return Usage(input_tokens=counted["input_tokens"], output_tokens=counted["output_tokens"], cached_tokens=cached)


def _given(message: Message) -> BaseMessage:
    (given,) = to_langchain([message])
    return given.model_copy(update={"id": None})


FORM = Form(
    "langchain",
    lambda records: [_said(each) for each in messages_from_dict(list(records))],
    lambda message: [message_to_dict(_given(message))],
)
