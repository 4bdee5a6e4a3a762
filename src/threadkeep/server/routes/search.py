"""Search: the messages of a user, found by their words."""

from typing import Annotated

from fastapi import APIRouter, Query

from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import ConversationId
from threadkeep.server.responses import HitList, ShownHit
from threadkeep.server.routes.conversations import Limit


def search_routes(conversations: Conversations) -> APIRouter:
    router, cursors = APIRouter(prefix="/v1", tags=["reading"]), ListCursors(conversations.keyring)

    @router.get("/search", summary="Find messages")
    async def search(
        who: Who,
        q: Annotated[str, Query(min_length=1, max_length=1000, description='Words, or "words together".')],
        limit: Limit = 20,
        after: str | None = None,
        conversation: ConversationId | None = None,
    ) -> HitList:
        place = await cursors.read(after)
        page = await conversations.search(q, scope=who.scope, conversation=conversation, limit=limit, after=place)
        return HitList(data=[ShownHit.model_validate(hit) for hit in page.items], next=await cursors.shown(page.next))

    return router
