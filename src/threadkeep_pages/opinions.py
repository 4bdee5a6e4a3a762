"""What people thought of answers, for administrators of a tenant: how many thumbs each user gave each model.

The audit log says who rated which answer; the answers themselves say which model gave them. Nothing else is read.
"""

from collections import Counter
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.message import Message
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, EntryNotFound
from threadkeep.server.identity.guards import Admin
from threadkeep.server.responses import Shown
from threadkeep.server.routes.audit import names_of
from threadkeep.store.audit import Act

MOST = 1000
"""How many ratings are counted, the newest ones: each has its answer looked up."""
GIVEN, OBJECT = "feedback.given", "conversation:"


class ModelOpinions(Shown):
    """What a user, or somebody who was erased (none), thought of the answers of a model; none: they are gone."""

    user: str | None
    model: str | None
    up: int
    down: int


class OpinionList(Shown):
    """By user and model; `is_whole` unless there were more ratings than are counted."""

    data: list[ModelOpinions]
    is_whole: bool


def opinion_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/admin", tags=["administration"])

    @router.get("/feedback", summary="What users thought of the answers of models")
    async def feedback(who: Admin, days: Annotated[int, Query(ge=1, le=365)] = 30) -> OpinionList:
        tenant, since = who.scope.tenant, utc_now() - timedelta(days=days)
        await conversations.admin.record(tenant, "feedback.read", f"tenant:{tenant}")
        records = await conversations.admin.newest_acts(tenant, limit=MOST, actions=(GIVEN,), since=since)
        newest: dict[tuple[str, int], Act] = {}
        for record in records:
            newest.setdefault((record.act.object, record.act.details["entry"]), record.act)
        names = await names_of(conversations, tenant, {act.actor for act in newest.values()})
        counted: Counter[tuple[str | None, str | None, str]] = Counter()
        for (concerned, entry), act in newest.items():
            if rating := act.details["rating"]:
                model = await _model(conversations, tenant, concerned.removeprefix(OBJECT), entry)
                counted[names.get(act.actor), model, rating] += 1
        pairs = sorted({key[:2] for key in counted}, key=lambda pair: (pair[0] or "", pair[1] or ""))
        data = [
            ModelOpinions(user=user, model=model, up=counted[user, model, "up"], down=counted[user, model, "down"])
            for user, model in pairs
        ]
        return OpinionList(data=data, is_whole=len(records) < MOST)

    return router


async def _model(conversations: Conversations, tenant: str, conversation: str, entry: int) -> str | None:
    """Return the model of an answer."""
    try:
        handle = await conversations.admin.conversation(tenant, conversation, act=None)
        body = (await handle.reading.entry(entry)).body
    except (ConversationNotFound, EntryNotFound):
        return None
    return body.model if isinstance(body, Message) else None
