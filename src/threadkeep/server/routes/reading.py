"""Reading beside the page of messages: events of a conversation, its tree, another head, search."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import AfterValidator
from starlette.responses import StreamingResponse

from threadkeep.conversation.cursor import Cursor
from threadkeep.keeper import Keeper
from threadkeep.server.bodies import ConversationId, HeadBody
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.list_events import watch_list
from threadkeep.server.routes.conversations import IfMatch, Limit, parse_version
from threadkeep.server.shown import HitList, ShownConversation, ShownHit, ShownTree, shown_tree
from threadkeep.server.sse import EventStream, stream
from threadkeep.store.paging import check_position

LastEventId = Annotated[
    str | None,
    Header(description="The cursor of the last event that was seen; wins over `after`."),
    AfterValidator(lambda cursor: cursor or None),
]


def _streamed(description: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of an endless answer."""
    return {200: {"content": {"text/event-stream": {}}, "description": description}}


def reading_routes(keeper: Keeper) -> APIRouter:
    """The routes for one keeper."""
    router, store = APIRouter(prefix="/v1", tags=["reading"]), keeper.store
    cursors = ListCursors(store.keyring)

    @router.get(
        "/conversations/{id}/events",
        dependencies=[Depends(room_for_stream)],
        response_class=StreamingResponse,
        responses=_streamed("What happens in the conversation, as server-sent events, for ever."),
        summary="Follow a conversation",
    )
    async def events(
        who: Who, id: ConversationId, after: str | None = None, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        conversation = await store.get(who.scope, id)
        text = after if last_event_id is None else last_event_id
        cursor = None if text is None else Cursor.decode(text, id)
        if cursor is not None:
            check_position(cursor.seq, conversation.entries)
        return stream(keeper.desk.follow(who.scope, id, cursor, presence=True), id)

    @router.get(
        "/events",
        dependencies=[Depends(room_for_stream)],
        response_class=StreamingResponse,
        responses=_streamed("conversation.created, .updated, .running, .waiting and .deleted, for ever."),
        summary="Follow the list of conversations",
    )
    async def list_events(who: Who) -> StreamingResponse:
        changes = watch_list(store, keeper.runner.deps.bus, who.scope)
        return EventStream(changes)

    @router.get("/conversations/{id}/tree", summary="The branches")
    async def tree(who: Who, id: ConversationId) -> ShownTree:
        return await shown_tree(store, who.scope, id)

    @router.put("/conversations/{id}/head", summary="Choose a branch")
    async def choose(
        who: Who, id: ConversationId, body: HeadBody, response: Response, if_match: IfMatch = None
    ) -> ShownConversation:
        changed = await store.choose_head(who.scope, id, body.head, expected_version=parse_version(if_match))
        keeper.changed(who.scope, id)
        response.headers["ETag"] = f'"{changed.version}"'
        return ShownConversation.of(changed)

    @router.get("/search", summary="Find messages")
    async def search(
        who: Who,
        q: Annotated[str, Query(min_length=1, max_length=1000, description='Words, or "words together".')],
        limit: Limit = 20,
        after: str | None = None,
        conversation: ConversationId | None = None,
    ) -> HitList:
        place = await cursors.read(after)
        page = await store.search(who.scope, q, conversation=conversation, limit=limit, after=place)
        return HitList(data=[ShownHit.of(hit) for hit in page.items], next=await cursors.shown(page.next))

    return router
