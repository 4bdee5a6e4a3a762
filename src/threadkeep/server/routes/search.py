"""Search: the messages and titles of a user, found by their words.

The words can be sent in a body, so that they stand in no address, which proxies write down.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from threadkeep.conversation.ids import Id
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import Body, ConversationId, SentText
from threadkeep.server.responses import HitList, ShownHit
from threadkeep.server.routes.conversations import Limit
from threadkeep.store.values import Order

SYNTAX = 'Words, "words together", -word, and assistant: before: after: role: status: title: with a value each.'


class SearchBody(Body):
    """What to find."""

    q: SentText = Field(min_length=1, max_length=1000, description=SYNTAX)
    order: Order = Field(default="rank", description="The best first, or the newest.")
    limit: int = Field(default=20, strict=True, ge=1, le=200, description="How many at most.")
    after: str | None = None
    conversation: Id | None = None


def search_routes(conversations: Conversations) -> APIRouter:
    router, cursors = APIRouter(prefix="/v1", tags=["reading"]), ListCursors(conversations.admin.keyring)

    @router.get("/search", summary="Find messages and titles")
    async def search(
        who: Who,
        q: Annotated[str, Query(min_length=1, max_length=1000, description=SYNTAX)],
        order: Annotated[Order, Query(description="The best first, or the newest.")] = "rank",
        limit: Limit = 20,
        after: str | None = None,
        conversation: ConversationId | None = None,
    ) -> HitList:
        return await find(
            who, SearchBody.model_construct(q=q, order=order, limit=limit, after=after, conversation=conversation)
        )

    @router.post("/search", summary="Find messages and titles, without their words in the address")
    async def find(who: Who, body: SearchBody) -> HitList:
        within = None if body.conversation is None else (await conversations.named(who.scope, body.conversation)).id
        page = await conversations.search(
            body.q,
            scope=who.scope,
            conversation=within,
            order=body.order,
            limit=body.limit,
            after=await cursors.read(body.after),
        )
        return HitList(data=[ShownHit.model_validate(hit) for hit in page.items], next=await cursors.shown(page.next))

    return router
