"""Events as endless streams: what happens in a conversation, and in the list of conversations."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from pydantic import AfterValidator
from starlette.responses import StreamingResponse

from threadkeep.conversations import Conversations
from threadkeep.server.bodies import ConversationId
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream
from threadkeep.server.list_events import watch_list
from threadkeep.server.sse import EventStream, stream

LastEventId = Annotated[
    str | None,
    Header(description="The cursor of the last event that was seen; wins over `after`."),
    AfterValidator(lambda cursor: cursor or None),
]


def _streamed(description: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of an endless answer."""
    return {200: {"content": {"text/event-stream": {}}, "description": description}}


def event_routes(conversations: Conversations) -> APIRouter:
    """The routes for these conversations."""
    router = APIRouter(prefix="/v1", tags=["reading"], dependencies=[Depends(room_for_stream)])

    @router.get(
        "/conversations/{id}/events",
        response_class=StreamingResponse,
        responses=_streamed("What happens in the conversation, as server-sent events, for ever."),
        summary="Follow a conversation",
    )
    async def events(
        who: Who, id: ConversationId, after: str | None = None, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        conversation = conversations.at(who.scope, id)
        cursor = await conversation.cursor(after if last_event_id is None else last_event_id)
        return stream(conversation.follow(cursor, presence=True), id)

    @router.get(
        "/events",
        response_class=StreamingResponse,
        responses=_streamed("conversation.created, .updated, .running, .waiting and .deleted, for ever."),
        summary="Follow the list of conversations",
    )
    async def list_events(who: Who) -> StreamingResponse:
        return EventStream(watch_list(conversations, who.scope))

    return router
