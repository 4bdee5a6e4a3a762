"""The dialect of sessions (R-A5): `/api/v1/chat` and `/api/v1/sessions`. A session is a conversation."""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field
from starlette.responses import StreamingResponse

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_export
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import SentText, Title, canonical_body, replay_headers
from threadkeep.server.responses import Shown
from threadkeep.settings import Settings
from threadkeep_protocols.dialects.exchange import (
    Asking,
    Calling,
    DialectBody,
    Exchange,
    Reply,
    UsedTool,
    find,
)

Limit = Annotated[int, Query(ge=1, le=200, description="How many at most; the next ones are behind `Link`.")]


class NewSession(DialectBody):
    """A session that begins without a message."""

    title: Title | None = None
    system: SentText | None = None


class ChatInSession(DialectBody):
    """A message for a session that is named by the path."""

    message: SentText = Field(min_length=1, examples=["What is the budget of CC-1001?"])


class ChatBody(ChatInSession):
    """A message; `session_id` missing, null or empty begins a session."""

    session_id: str | None = Field(default=None, examples=[None])


class ShownSession(Shown):
    """A session; its messages are counted with the system message."""

    session_id: str
    created_at: datetime
    last_accessed: datetime
    message_count: int


class SessionMessage(Shown):
    """A message as sessions have it; what is absent is null."""

    role: str
    content: str
    tool_call_id: str | None = None
    tool_calls: list[UsedTool] | None = None

    @classmethod
    def of(cls, message: Message) -> "SessionMessage":
        """Return a message in this shape."""
        calls = [UsedTool.of(call) for call in message.tool_calls]
        answers = message.tool_result.tool_call_id if message.tool_result else None
        return cls(role=message.role, content=message.content, tool_call_id=answers, tool_calls=calls or None)


class WholeSession(ShownSession):
    """A session with the messages of its current branch, the system message first."""

    messages: list[SessionMessage]


class Sessions:
    """Conversations, shown as sessions."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def shown(self, conversation: Conversation) -> ShownSession:
        """Return a conversation as a session."""
        handle = self._conversations.at(conversation.scope, conversation.id)
        return ShownSession(
            session_id=conversation.id,
            created_at=conversation.created_at,
            last_accessed=conversation.updated_at,
            message_count=1 + await handle.reading.count(head=conversation.head),
        )

    async def those_left(self, listed: Iterable[Conversation]) -> AsyncIterator[ShownSession]:
        """Yield conversations as sessions, without those that were deleted since they were listed."""
        for conversation in listed:
            with suppress(ConversationNotFound):
                yield await self.shown(conversation)

    async def whole(self, conversation: Conversation) -> AsyncIterator[str]:
        """Yield a session with all of its messages piece by piece, as the JSON of a `WholeSession`."""
        first = SessionMessage(role=Role.SYSTEM, content=self._instructions(conversation))
        shown = (await self.shown(conversation)).model_dump_json().removesuffix("}")
        yield f'{shown},"messages":[{first.model_dump_json()}'
        handle = self._conversations.at(conversation.scope, conversation.id)
        async for entry in handle.reading.branch(head=conversation.head):
            if isinstance(entry.body, Message):
                yield f",{SessionMessage.of(entry.body).model_dump_json()}"
        yield "]}"

    def _instructions(self, conversation: Conversation) -> str:
        assistants = self._conversations.assistants
        name = conversation.assistant or next(iter(assistants))
        return conversation.system or (assistants[name].instructions if name in assistants else "")


async def _after(begun: Iterable[str], rest: AsyncIterator[str]) -> AsyncIterator[str]:
    for piece in begun:
        yield piece
    async for piece in rest:
        yield piece


def session_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router, cursors = APIRouter(prefix="/api/v1", tags=["dialect: sessions"]), ListCursors(conversations.admin.keyring)
    exchange, sessions = Exchange(conversations, settings.dialects.sessions), Sessions(conversations)

    @router.post("/chat", response_model=Reply, summary="Send a message and wait for the answer")
    async def chat(caller: Calling, body: ChatBody) -> Response:
        return await exchange.answer(
            Asking(caller=caller, content=body.message, session=body.session_id, route="POST /api/v1/chat", body=body)
        )

    @router.post("/sessions/{session_id}/chat", response_model=Reply, summary="Send a message to a session")
    async def chat_in(caller: Calling, session_id: str, body: ChatInSession) -> Response:
        route = f"POST /api/v1/sessions/{session_id}/chat"
        return await exchange.answer(
            Asking(caller=caller, content=body.message, session=session_id, route=route, body=body)
        )

    @router.get("/sessions", summary="List sessions, the last active first")
    async def listing(who: Who, response: Response, limit: Limit = 50, after: str | None = None) -> list[ShownSession]:
        page = await conversations.list(scope=who.scope, limit=limit, after=await cursors.read(after))
        if page.next is not None:
            more = urlencode({"limit": limit, "after": await cursors.shown(page.next)})
            response.headers["Link"] = f'</api/v1/sessions?{more}>; rel="next"'
        return [shown async for shown in sessions.those_left(page.items)]

    @router.post("/sessions", status_code=201, summary="Begin a session without a message")
    async def create(caller: Calling, response: Response, body: NewSession | None = None) -> ShownSession:
        chosen = body or NewSession()
        answering = exchange.assistant_for(chosen)
        key = caller.key("POST /api/v1/sessions", canonical_body(chosen))
        created = await conversations.create(
            scope=caller.scope, key=key, assistant=answering, title=chosen.title, system=chosen.system
        )
        response.headers.update(replay_headers(created.replayed))
        return await sessions.shown(created.value)

    @router.get(
        "/sessions/{session_id}",
        dependencies=[Depends(room_for_export)],
        response_model=WholeSession,
        summary="Read a session with its messages",
    )
    async def read(who: Who, session_id: str) -> Response:
        found = await find(conversations, who.scope, session_id)
        whole = sessions.whole(found.value)
        # Until its first entry is read it can be deleted, which no stream could say.
        begun = [await anext(whole), await anext(whole)]
        return StreamingResponse(_after(begun, whole), media_type="application/json")

    @router.post("/sessions/{session_id}/clear", summary="Begin anew in a session; nothing is deleted")
    async def clear(who: Who, session_id: str) -> ShownSession:
        return await sessions.shown(await (await find(conversations, who.scope, session_id)).clear())

    @router.delete("/sessions/{session_id}", status_code=204, response_class=Response, summary="Delete a session")
    async def delete(who: Who, session_id: str) -> None:
        await (await find(conversations, who.scope, session_id)).delete()

    return router
