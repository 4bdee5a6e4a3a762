"""Search: the messages and titles of a user, found by their words."""

from typing import Annotated

from fastapi import APIRouter, Query

from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import ConversationId
from threadkeep.server.responses import HitList, ShownHit
from threadkeep.server.routes.conversations import Limit
from threadkeep.store.values import Order

SYNTAX = 'Words, "words together", -word, and assistant: before: after: role: status: title: with a value each.'


def search_routes(conversations: Conversations) -> APIRouter:
    router, cursors = APIRouter(prefix="/v1", tags=["reading"]), ListCursors(conversations.keyring)

    @router.get("/search", summary="Find messages and titles")
    async def search(
        who: Who,
        q: Annotated[str, Query(min_length=1, max_length=1000, description=SYNTAX)],
        order: Annotated[Order, Query(description="The best first, or the newest.")] = "rank",
        limit: Limit = 20,
        after: str | None = None,
        conversation: ConversationId | None = None,
    ) -> HitList:
        page = await conversations.search(
            q, scope=who.scope, conversation=conversation, order=order, limit=limit, after=await cursors.read(after)
        )
        return HitList(data=[ShownHit.model_validate(hit) for hit in page.items], next=await cursors.shown(page.next))

    return router
