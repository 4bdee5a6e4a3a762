"""The dialect of chat and stream (R-B1): `POST /api/chat`, then server-sent events from `/stream?session_id=...`.

Without a cursor a stream shows the newest turn from its beginning, however late it is opened; with `Last-Event-ID` or
`after` it goes on from there. It ends with the turn; a client that comes back after that gets 204, which makes an
EventSource stop.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from threadkeep.context.blocks import text_of_blocks
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import (
    Event,
    MessageCompleted,
    MessageStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
    TurnWaiting,
)
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream
from threadkeep.server.requests import SentText, replay_headers
from threadkeep.server.responses import Shown
from threadkeep.server.routes.events import LastEventId
from threadkeep.server.sse import DialectEvent, sse_response
from threadkeep.settings import Settings
from threadkeep_protocols.chats import log_behind
from threadkeep_protocols.dialects.exchange import Asking, Calling, DialectBody, Exchange, find, status_of
from threadkeep_protocols.dialects.form import body_reader, described

Told = list[tuple[str, dict[str, Any]]]


class TurnTranslator:
    """Translates the events of a turn; without a number it is the first turn that an event is about.

    `begun` is the message of which a returning reader already has the beginning, if any.
    """

    def __init__(self, turn: int | None, begun: str | None = None) -> None:
        self._turn = turn
        self._begun = {begun}
        self._of_others: set[str] = set()

    def is_about(self, event: Event) -> bool:
        """Whether an event belongs to the turn."""
        match event.what:
            case TextDelta(message=message) | ToolCalled(message=message):
                return message not in self._of_others
            case TurnQueued():
                return False
        if event.turn is not None and self._turn is None:
            self._turn = event.turn
        if event.turn is not None and event.turn == self._turn:
            return True
        match event.what:
            case MessageStarted(message=message):
                self._of_others.add(message)
            case MessageCompleted(message=whole):
                self._of_others.add(whole.id)
        return False

    @property
    def turn(self) -> int:
        """The turn that is translated; 0 before it is known."""
        return self._turn or 0

    def tell(self, event: Event) -> Told:
        """Return the events for one event of the turn. The caller adds the end of a turn that did not fail."""
        match event.what:
            case TextDelta(message=message, text=text):
                self._begun.add(message)
                return [("delta", {"text": text})]
            case MessageCompleted(message=whole):
                return self._whole(whole)
            case ToolCalled(call=call):
                return [("tool_call", {"id": call.id, "name": call.name, "args": call.args})]
            case ToolReturned(result=result, content=content):
                return [("tool_result", {"tool_call_id": result.tool_call_id, "content": content})]
            case TurnEnded(failure=failure) if failure is not None:
                return [("error", failure.model_dump())]
            case _:
                return []

    def _whole(self, message: Message) -> Told:
        """Return a finished answer as one delta, unless its text was streamed before."""
        if message.role is not Role.ASSISTANT or message.id in self._begun:
            return []
        text = message.content or text_of_blocks(message)
        return [("delta", {"text": text})] if text else []


_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "delta, tool_call, tool_result, then done or error."},
    204: {"description": "Everything behind the cursor was told."},
}


class StreamedChatBody(DialectBody):
    """A message; `session_id` missing, null or empty begins a conversation."""

    message: SentText = Field(min_length=1, examples=["My name is Alice."])
    session_id: str | None = Field(default=None, examples=[None])


class Accepted(Shown):
    """Where the answer can be read."""

    session_id: str
    stream_url: str


Sent = Annotated[StreamedChatBody, Depends(body_reader(StreamedChatBody))]


def chat_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router, exchange = APIRouter(tags=["dialect: chat and stream"]), Exchange(conversations, settings.dialects.chat)

    @router.post(
        "/api/chat", openapi_extra=described(StreamedChatBody), summary="Send a message; its answer is streamed"
    )
    async def chat(caller: Calling, body: Sent, response: Response) -> Accepted:
        sent = await exchange.send(
            Asking(caller=caller, content=body.message, session=body.session_id, route="POST /api/chat", body=body)
        )
        response.headers.update(replay_headers(sent.turn.replayed))
        url = f"/stream?{urlencode({'session_id': sent.conversation})}"
        return Accepted(session_id=sent.conversation, stream_url=url)

    @router.get(
        "/stream",
        dependencies=[Depends(room_for_stream)],
        response_class=Response,
        responses=_STREAMED,
        summary="Stream the answer of a session",
    )
    async def answer(
        who: Who, session_id: str, after: str | None = None, last_event_id: LastEventId = None
    ) -> Response:
        conversation = await find(conversations, who.scope, session_id)
        cursor = await conversation.cursor(after if last_event_id is None else last_event_id)
        if cursor is not None and await _has_ended_before(conversation, cursor):
            return Response(status_code=204)
        place = await _newest_turn(conversation) if cursor is None else _Start(cursor)
        return sse_response(_dialect_events(conversation, place), conversation.id)

    return router


@dataclass(frozen=True)
class _Start:
    """Where a stream begins, and the turn that it shows; none is the next one in the log from there."""

    cursor: Cursor
    turn: int | None = None


async def _newest_turn(conversation: ConversationHandle) -> _Start:
    """Return the beginning of the newest turn, open or not; where there is none, the end of the log."""
    turns, now = await conversation.turns(), await conversation.read()
    if turns:
        return _Start(Cursor(seq=turns[-1].number - 1), turns[-1].number)
    if now.head is not None:
        turn = (await conversation.reading.entry(now.head)).turn
        if turn is not None:
            return _Start(Cursor(seq=turn - 1), turn)
    return _Start(Cursor(seq=now.entries))


async def _has_ended_before(conversation: ConversationHandle, cursor: Cursor) -> bool:
    """Whether no turn is open and none has changed after the cursor."""
    if await conversation.turns():
        return False
    async for entry in log_behind(conversation, cursor.seq):
        if isinstance(entry.body, TurnChange) and entry.body.state is not TurnState.QUEUED:
            return False
    return True


async def _dialect_events(conversation: ConversationHandle, place: _Start) -> AsyncGenerator[DialectEvent, None]:
    """Yield the events of one turn in the words of this dialect, each with the cursor that it has everywhere."""
    translator = TurnTranslator(place.turn, place.cursor.message)
    async with aclosing(conversation.follow(place.cursor)) as events:
        async for event in events:
            if not translator.is_about(event):
                continue
            for name, data in translator.tell(event):
                yield DialectEvent(name, data, event.cursor)
            end = event.what
            if isinstance(end, TurnEnded | TurnWaiting) and await conversation.turn(translator.turn).is_over(event):
                if isinstance(end, TurnWaiting) or end.failure is None:
                    count = await conversation.reading.count()
                    done = {"session_id": conversation.id, "message_count": count, "status": status_of(end)}
                    yield DialectEvent("done", done, event.cursor)
                return
