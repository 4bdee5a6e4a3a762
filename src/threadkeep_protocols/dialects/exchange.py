"""What the dialects share: one message in, with or without a session, and one answer out.

A first message makes a conversation and then sends to it. Both steps are protected by keys that are derived from the
one key of the client, so a retry after a crash between them finds the same conversation and sends only once.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.marks import NO_CONTENT
from threadkeep.conversation.events import TurnEnded, TurnWaiting
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidId, InvalidInput, KeyReused, LimitReached, Stopping
from threadkeep.server.identity.guards import Who
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.server.problems import problem_of_turn
from threadkeep.server.requests import Key, canonical_body, replay_headers
from threadkeep.server.responses import Shown, ShownBlocks
from threadkeep.turn_handle import TurnHandle, TurnOutcome


class UsedTool(Shown):
    """A tool call that was made for an answer."""

    id: str
    name: str
    args: dict[str, Any]

    @classmethod
    def of(cls, call: ToolCall) -> "UsedTool":
        """Return a call in this shape."""
        return cls(id=call.id, name=call.name, args=call.args)


class Reply(Shown):
    """An answer: `status` says how the turn ended, `detail` more where there is more to say."""

    response: str
    session_id: str
    status: str = Field(examples=["completed"])
    detail: str | None = None
    blocks: ShownBlocks = Field(default_factory=list)
    tool_calls: list[UsedTool] = Field(default_factory=list)


def reply_to(outcome: TurnOutcome, session: str, *, replayed: bool) -> Response:
    """Return the answer to a request; a turn that failed is a problem that names the session."""
    message, end = outcome.message, outcome.end
    if isinstance(end, TurnEnded) and end.failure is not None:
        return problem_of_turn(end.failure, session_id=session)
    reply = Reply(
        response=(message.content.strip() or text_of_blocks(message) or NO_CONTENT) if message else end.detail or "",
        session_id=session,
        status=status_of(end),
        detail=end.detail,
        blocks=list(message.blocks) if message else [],
        tool_calls=[UsedTool.of(call) for call in outcome.calls],
    )
    return JSONResponse(reply.model_dump(mode="json"), headers=replay_headers(replayed))


def status_of(end: TurnEnded | TurnWaiting) -> str:
    """Return how a turn ended, by its last event."""
    return end.state if isinstance(end, TurnEnded) else TurnState.WAITING


REFUSALS = (InvalidInput, KeyReused, LimitReached, Stopping)
"""The errors by which a message is refused before any of it is stored."""


class DialectBody(BaseModel):
    """A request body of a dialect. Unknown fields are ignored: old clients may send fields of their own."""

    model_config = ConfigDict(frozen=True)

    assistant: Id | None = Field(default=None, description="Who answers, if not the dialect's own assistant.")


@dataclass(frozen=True)
class Caller:
    """Who is asking, with the key of the request, if it has one, and what the caller may use."""

    scope: Scope
    key: Key
    receive: Receive


async def _caller(request: Request, who: Who, key: Key) -> Caller:
    return Caller(who.scope, key, request.receive)


Calling = Annotated[Caller, Depends(_caller)]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A message as a client of a dialect sent it; without a session it begins a conversation.

    `route` and `body` are what the client's key, if there is one, stands for.
    """

    caller: Caller
    content: str
    session: str | None
    route: str
    body: DialectBody


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message that was accepted: its conversation and its turn."""

    conversation: str
    turn: TurnHandle


class Exchange:
    """Takes messages for one dialect; its assistant answers if this process has it, else the first one."""

    def __init__(self, conversations: Conversations, assistant: str) -> None:
        self.conversations = conversations
        self._assistant = assistant

    def assistant_for(self, body: DialectBody) -> str | None:
        """Return who answers in a conversation that a body begins; none is the first assistant."""
        self.conversations.check_assistant(body.assistant)
        own = self._assistant if self._assistant in self.conversations.assistants else None
        return body.assistant or own

    async def send(self, asking: Asking) -> Sent:
        """Store a message, in a new conversation or in one that exists, and have it answered."""
        if not asking.session:
            return await self._begin(asking)
        found = await find(self.conversations, asking.caller.scope, asking.session)
        await self._let_answer(asking.body.assistant, found)
        return await self._send(found, asking)

    async def _let_answer(self, assistant: str | None, conversation: ConversationHandle) -> None:
        """Change the assistant of a conversation to the one that a body names, if it names another."""
        self.conversations.check_assistant(assistant)
        if assistant not in (None, conversation.value.assistant):
            await conversation.update(assistant=assistant)

    async def _begin(self, asking: Asking) -> Sent:
        caller, assistant = asking.caller, self.assistant_for(asking.body)
        key = caller.key(f"{asking.route} (conversation)", canonical_body(asking.body))
        created = await self.conversations.create(scope=caller.scope, key=key, assistant=assistant)
        async with undone_if_refused(created):
            return await self._send(created, asking)

    async def _send(self, conversation: ConversationHandle, asking: Asking) -> Sent:
        key = asking.caller.key(asking.route, canonical_body(asking.body))
        return Sent(conversation=conversation.id, turn=await conversation.send(asking.content, key=key))

    async def answer(self, asking: Asking) -> Response:
        """Send a message, wait for the end of its turn, and answer with what was said."""
        sent = await self.send(asking)
        outcome = await unless_gone(asking.caller.receive, sent.turn.outcome())
        return reply_to(outcome, sent.conversation, replayed=sent.turn.replayed)


@asynccontextmanager
async def undone_if_refused(created: ConversationHandle) -> AsyncIterator[None]:
    """Delete a conversation that was just created, and its key, if its first message is refused."""
    try:
        yield
    except REFUSALS:
        if not created.replayed:
            await created.delete()
        raise


async def find(conversations: Conversations, scope: Scope, session: str) -> ConversationHandle:
    """Return the conversation behind a session id; an invalid id is answered like an unknown one."""
    try:
        return await conversations.get(session, scope=scope)
    except InvalidId:
        raise ConversationNotFound from None
