"""What the dialects share: one message in, with or without a session, and one answer out.

A first message makes a conversation and then sends to it. Both steps are protected by keys that are derived from the
one key of the client, so a retry after a crash between them finds the same conversation and sends only once.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.types import Receive

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import (
    ConversationNotFound,
    InvalidId,
    InvalidInput,
    KeyReused,
    LimitReached,
    Stopping,
)
from threadkeep.keeper import Keeper, log_created, log_reused
from threadkeep.server.bodies import canonical_body
from threadkeep.server.dialects.reply import Outcome
from threadkeep.server.idempotency_header import Key
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import Limited, Limits
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.store.base import Begun, Created, Store
from threadkeep.turn.steps.accept import Sending

REFUSALS = (InvalidInput, KeyReused, LimitReached, Stopping)
"""How a message can be refused before anything of it is stored."""


class DialectBody(BaseModel):
    """A request body of a dialect. Unknown fields are ignored: old clients may send fields of their own."""

    model_config = ConfigDict(frozen=True)

    assistant: Id | None = Field(default=None, description="Who answers, if not the dialect's own assistant.")


@dataclass(frozen=True)
class Caller:
    """Who is asking, with the key of the request, if it has one, and what the caller may use."""

    scope: Scope
    key: Key
    limits: Limits
    receive: Receive


async def _caller(request: Request, who: Who, key: Key, limits: Limited) -> Caller:
    return Caller(who.scope, key, limits, request.receive)


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
    begun: Begun


class Exchange:
    """Takes messages for one dialect; its assistant answers if this process has it, else the first one."""

    def __init__(self, keeper: Keeper, assistant: str) -> None:
        self.keeper = keeper
        self._assistant = assistant

    def new(self, body: DialectBody, **fields: Any) -> NewConversation:
        """Return the conversation that a body asks for. Without an assistant the first one answers."""
        self.keeper.check_assistant(body.assistant)
        own = self._assistant if self._assistant in self.keeper.assistants else None
        return NewConversation(assistant=body.assistant or own, **fields)

    async def send(self, asking: Asking) -> Sent:
        """Store a message, in a new conversation or in one that exists, and see to it that it is answered."""
        if not asking.session:
            return await self._begin(asking)
        found = await find(self.keeper.store, asking.caller.scope, asking.session)
        await asking.caller.limits.check_storage(asking.caller.scope)
        await self._let_answer(asking.body.assistant, found)
        return await self._send(found.id, asking)

    async def _let_answer(self, assistant: str | None, conversation: Conversation) -> None:
        """Let the assistant that a body names answer from now on, as where a file of another program names none."""
        self.keeper.check_assistant(assistant)
        if assistant not in (None, conversation.assistant):
            await self.keeper.store.update(conversation.scope, conversation.id, Update(assistant=assistant))

    async def _begin(self, asking: Asking) -> Sent:
        new, caller = self.new(asking.body), asking.caller
        await check_room(caller)
        key = caller.key(f"{asking.route} (conversation)", canonical_body(asking.body))
        created = await self.keeper.store.create(caller.scope, new, key=key)
        log_created(created)
        async with undone_if_refused(self.keeper.store, created):
            return await self._send(created.conversation.id, asking)

    async def _send(self, id: str, asking: Asking) -> Sent:
        caller = asking.caller
        sending = Sending(content=asking.content, key=caller.key(asking.route, canonical_body(asking.body)))
        begun = await self.keeper.desk.send(caller.scope, id, sending)
        self.keeper.changed(caller.scope)
        return Sent(conversation=id, begun=begun)

    async def answer(self, asking: Asking) -> Response:
        """Send a message, wait for the end of its turn, and answer with what was said."""
        sent = await self.send(asking)
        outcome = await unless_gone(asking.caller.receive, self._outcome(asking.caller.scope, sent))
        return outcome.answer(sent.conversation, replayed=sent.begun.replayed)

    async def _outcome(self, scope: Scope, sent: Sent) -> Outcome:
        outcome = Outcome()
        async with aclosing(self.keeper.desk.follow_turn(scope, sent.conversation, sent.begun)) as events:
            async for event in events:
                if event.turn == sent.begun.turn:
                    outcome.take(event)
        return outcome


async def check_room(caller: Caller) -> None:
    """Refuse who may not begin one more conversation."""
    await caller.limits.check_storage(caller.scope)
    await caller.limits.check_conversations(caller.scope)


@asynccontextmanager
async def undone_if_refused(store: Store, created: Created) -> AsyncIterator[None]:
    """Delete a conversation that was just made if its first message is refused: then neither it nor its key stays."""
    try:
        yield
    except REFUSALS:
        if not created.replayed:
            await store.delete(created.conversation.scope, created.conversation.id)
        raise


async def find(store: Store, scope: Scope, session: str) -> Conversation:
    """Return the conversation behind a session id; one that could be no id is as unknown as any other."""
    try:
        found = await store.get(scope, session)
    except InvalidId:
        raise ConversationNotFound from None
    log_reused(found.id)
    return found
