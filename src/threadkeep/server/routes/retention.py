"""For administrators, of their own tenant: how long conversations are kept, what is due by that, and legal holds."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from threadkeep.conversation.clock import moment_of, utc_now
from threadkeep.conversation.facts import Status
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.retention.rules import Action, Retention
from threadkeep.retention.run import Planned
from threadkeep.server.identity.guards import Admin
from threadkeep.server.requests import Body, SentText
from threadkeep.server.responses import Shown
from threadkeep.server.routes.conversations import Limit

Now = Annotated[
    str | None,
    Query(max_length=64, description="Look as if it were then: a date, or a period from now on such as `+120d`."),
]
HoldId = Annotated[str, Path(max_length=128)]


class ShownPlan(Shown):
    """What is due for a conversation, by which rule and since when."""

    conversation: str
    user: str
    assistant: str | None
    status: Status
    last_activity: datetime
    action: Action
    reason: str
    due: datetime

    @classmethod
    def of(cls, planned: Planned) -> Self:
        """Return what is due in this shape."""
        named = {name: value for name, value in planned._asdict().items() if name in cls.model_fields}
        return cls(user=planned.scope.user, **named)


class Preview(Shown):
    """What is due at a moment, and whether there is more than is listed."""

    now: Moment
    data: list[ShownPlan]
    has_more: bool


class NewHold(Body):
    """What is to be held: a conversation, a user or, with neither, the whole tenant."""

    conversation: str | None = None
    user: str | None = None
    reason: SentText = Field(min_length=1, max_length=500, examples=["case 2026-17"])


class ShownHold(Shown):
    """A legal hold; `by` is who added it."""

    id: str
    conversation: str | None
    user: str | None
    reason: str
    by: str
    at: datetime


class HoldList(Shown):
    """All holds of a tenant, oldest first."""

    data: list[ShownHold]


def retention_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/admin", tags=["administration"])
    retention, holds = conversations.admin.retention, conversations.admin.holds

    @router.get("/retention", summary="How long the conversations of the tenant are kept")
    async def read(who: Admin) -> Retention:
        return (await retention.rules(who.scope.tenant)).resolved()

    @router.put("/retention", summary="Change how long the conversations of the tenant are kept")
    async def change(who: Admin, body: Retention) -> Retention:
        return (await retention.set_rules(who.scope.tenant, body)).resolved()

    @router.get("/retention/preview", summary="What would be marked and deleted, why and since when it is due")
    async def preview(who: Admin, now: Now = None, limit: Limit = 20) -> Preview:
        at = utc_now() if now is None else moment_of(now, utc_now())
        data: list[ShownPlan] = []
        async for planned in retention.preview(who.scope.tenant, at):
            if len(data) == limit:
                return Preview(now=at, data=data, has_more=True)
            data.append(ShownPlan.of(planned))
        return Preview(now=at, data=data, has_more=False)

    @router.get("/holds", summary="The legal holds of the tenant")
    async def listing(who: Admin) -> HoldList:
        return HoldList(data=[ShownHold.model_validate(hold) for hold in await holds.list(who.scope.tenant)])

    @router.post("/holds", status_code=201, summary="Hold a conversation, a user or the tenant")
    async def add(who: Admin, body: NewHold) -> ShownHold:
        hold = await holds.add(who.scope.tenant, conversation=body.conversation, user=body.user, reason=body.reason)
        return ShownHold.model_validate(hold)

    @router.delete("/holds/{hold}", status_code=204, response_class=Response, summary="Remove a legal hold")
    async def remove(who: Admin, hold: HoldId) -> None:
        await holds.remove(who.scope.tenant, hold)

    return router
