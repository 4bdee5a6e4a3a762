"""The tools that a model is offered: search, read, leave a note, send a message. Each is a verb of the front door."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.context.blocks import text_of_blocks
from threadkeep.conversation.events import TurnWaiting
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import SentText, Title
from threadkeep.server.routes.search import SYNTAX
from threadkeep.store.values import Hit, Order
from threadkeep.turn_handle import TurnHandle, TurnOutcome
from threadkeep_protocols.dialects.exchange import find, undone_if_refused
from threadkeep_protocols.mcp.pages import MOST_MESSAGES, read_page

MOST_WAIT = 600.0
TELL_EVERY = 5.0
"""Seconds after which a client that asked for progress is told that the answer is still being written."""
Tell = Callable[[float, str], Awaitable[None]]
"""Tells a client how far its call is: a number that rises, and words."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool returns: text for the model, and the same as JSON."""

    text: str
    data: dict[str, Any]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """Who calls a tool, and how they are told of its progress."""

    scope: Scope
    tell: Tell


class McpTool(BaseModel, ABC):
    """A tool; its fields are its arguments, its docstring is what a model is told of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    name: ClassVar[str]
    reads: ClassVar[bool] = True

    @abstractmethod
    async def run(self, conversations: Conversations, asked: Asked) -> Told:
        """Do it; an error of Threadkeep's is told to the model."""


class SearchConversations(McpTool):
    """Find messages and titles of earlier conversations by their words. Returns snippets with the id of each
    conversation, which read_conversation shows whole."""

    name: ClassVar[str] = "search_conversations"
    query: SentText = Field(min_length=1, max_length=1000, description=SYNTAX)
    conversation: Id | None = Field(default=None, description="Search in this conversation alone.")
    order: Order = Field(default="rank", description="The best first, or the newest.")
    limit: int = Field(default=10, ge=1, le=50)
    after: str | None = Field(default=None, max_length=4000, description="`next` of the page before.")

    async def run(self, conversations: Conversations, asked: Asked) -> Told:
        cursors = ListCursors(conversations.admin.keyring)
        within = None if self.conversation is None else await find(conversations, asked.scope, self.conversation)
        page = await conversations.search(
            self.query,
            scope=asked.scope,
            conversation=within.id if within else None,
            order=self.order,
            limit=self.limit,
            after=await cursors.read(self.after),
        )
        following = await cursors.shown(page.next)
        text = "\n\n".join(map(_hit_text, page.items)) or "Nothing was found."
        more = f"\n\n[There are more: search again with after={following}.]" if following else ""
        return Told(text + more, {"hits": [_hit(hit) for hit in page.items], "next": following})


class ReadConversation(McpTool):
    """Read a conversation: the newest messages of its current branch as Markdown, or those before an entry."""

    name: ClassVar[str] = "read_conversation"
    conversation: Id
    messages: int = Field(default=50, ge=1, le=MOST_MESSAGES, description="How many at most.")
    before: int | None = Field(default=None, ge=1, le=2**53, description="Only messages before this entry.")

    async def run(self, conversations: Conversations, asked: Asked) -> Told:
        handle = await find(conversations, asked.scope, self.conversation)
        page = await read_page(handle, self.messages, self.before)
        data = {"conversation": handle.id, "title": handle.value.title, "messages": page.messages}
        return Told(page.text, {**data, "before": page.before})


class _Writing(McpTool):
    """What begins a conversation where none is named, and is done once for a key."""

    reads: ClassVar[bool] = False
    text: SentText = Field(min_length=1)
    conversation: Id | None = Field(default=None, description="Where to; left out, a new conversation begins.")
    title: Title | None = Field(default=None, description="The title of a new conversation.")
    key: SentText | None = Field(
        default=None, min_length=1, max_length=255, description="The same key, sent again, is done only once."
    )

    async def place(self, conversations: Conversations, scope: Scope, **fields: Any) -> ConversationHandle:
        """Return the conversation that is meant, or begin it."""
        if self.conversation is not None:
            return await find(conversations, scope, self.conversation)
        return await conversations.create(scope=scope, key=self.key, title=self.title, **fields)

    async def done(self, place: ConversationHandle, work: Awaitable[Any]) -> Any:
        """Do what it is for. A conversation that was begun for it goes again if it is refused."""
        if self.conversation is not None:
            return await work
        async with undone_if_refused(place):
            return await work


class AppendNote(_Writing):
    """Keep a note in a conversation, or in a new one, without asking anybody for an answer."""

    name: ClassVar[str] = "append_note"
    role: Literal["user", "assistant"] = Field(default="user", description="Who says it.")

    async def run(self, conversations: Conversations, asked: Asked) -> Told:
        place = await self.place(conversations, asked.scope)
        note = Message(role=Role(self.role), content=self.text)
        # With a key the note must be the same one, whose id is made here, when it is sent again.
        if self.key is not None:
            note = note.model_copy(update={"id": asked.scope.own_id(f"note {place.id} {self.key}")})
        (entry,) = await self.done(place, place.append(note, key=self.key))
        data = {"conversation": place.id, "entry": entry.seq}
        return Told(f"Kept in conversation {place.id} as entry {entry.seq}.", data)


class SendMessage(_Writing):
    """Send a message to an assistant of this server, in a conversation or in a new one, and return its answer. The
    message is kept, and answered, whether you wait for it or not."""

    name: ClassVar[str] = "send_message"
    assistant: Id | None = Field(default=None, description="Who answers in a new conversation.")
    wait: float = Field(
        default=50, ge=0, le=MOST_WAIT, allow_inf_nan=False, description="Seconds to wait for the answer at most."
    )

    async def run(self, conversations: Conversations, asked: Asked) -> Told:
        conversations.check_assistant(self.assistant)
        place = await self.place(conversations, asked.scope, assistant=self.assistant)
        turn = await self.done(place, place.send(self.text, key=self.key))
        outcome = await _within(self.wait, turn, asked.tell)
        data = {"conversation": place.id, "turn": turn.number}
        if outcome is None:
            state = await turn.open_state() or TurnState.RUNNING
            text = f"It is being answered. Read conversation {place.id} later."
            return Told(text, {**data, "state": state})
        return _answered(outcome, data)


TOOLS: tuple[type[McpTool], ...] = (SearchConversations, ReadConversation, AppendNote, SendMessage)


async def _within(seconds: float, turn: TurnHandle, tell: Tell) -> TurnOutcome | None:
    """Wait for the end of a turn; none if it takes longer."""
    waiting = asyncio.ensure_future(turn.outcome())
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    try:
        while (left := until - loop.time()) > 0:
            done, _ = await asyncio.wait([waiting], timeout=min(left, TELL_EVERY))
            if done:
                return await waiting
            await tell(seconds - left, "The answer is being written.")
        return None
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def _answered(outcome: TurnOutcome, data: dict[str, Any]) -> Told:
    """Return how a turn ended, and its answer."""
    end, message = outcome.end, outcome.message
    data |= {"entry": outcome.seq}
    if isinstance(end, TurnWaiting):
        waiting = [call for call in outcome.calls if call.id in end.calls]
        calls = [{"id": call.id, "name": call.name, "args": call.args} for call in waiting]
        text = f"A person must first decide about: {', '.join(call.name for call in waiting)}."
        return Told(text, {**data, "state": TurnState.WAITING, "calls": calls})
    said = (message.content.strip() or text_of_blocks(message)) if message else ""
    data |= {"state": end.state, "answer": said}
    if (failure := end.failure) is not None:
        return Told(f"{failure.code}: {failure.detail}", {**data, "code": failure.code}, is_error=True)
    return Told(said or end.detail or "There was no answer.", data)


def _hit(hit: Hit) -> dict[str, Any]:
    shown = {"conversation": hit.conversation, "title": hit.title, "kind": hit.kind, "snippet": hit.snippet}
    return {**shown, "entry": hit.seq, "role": hit.role, "created_at": hit.created_at.isoformat()}


def _hit_text(hit: Hit) -> str:
    where = f"entry {hit.seq}, {hit.role}" if hit.kind == "message" else "its title"
    return f"{hit.title or 'Conversation'} ({hit.conversation}; {where}; {hit.created_at:%Y-%m-%d}):\n{hit.snippet}"
