"""For administrators, of their own tenant: which addresses get what happens, a test of each, and what was given up."""

import json
import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from threadkeep.conversation.clock import moment_text, utc_now
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Admin
from threadkeep.server.requests import Body
from threadkeep.server.responses import Shown
from threadkeep.settings import Settings
from threadkeep_webhooks.events import sendable
from threadkeep_webhooks.posting import Undelivered, needed
from threadkeep_webhooks.sending import Means
from threadkeep_webhooks.tables import USUAL, EventNames, Url, WebhookTarget
from threadkeep_webhooks.targets import DeadLetter, WebhookNotFound
from threadkeep_webhooks.wiring import means_of

WebhookId = Annotated[str, Path(max_length=128)]
LetterId = Annotated[str, Path(max_length=128)]


class NewWebhook(Body):
    """Where what happens is sent, and which events."""

    url: Url = Field(examples=["https://app.example.org/hooks"])
    events: EventNames = USUAL


class ShownWebhook(Shown):
    """An address that gets events. `is_set`: the settings of the server have it."""

    id: str
    url: str
    events: list[str]
    since: Moment
    is_set: bool

    @classmethod
    def of(cls, target: WebhookTarget) -> "ShownWebhook":
        """Return a target in this shape, without its secret."""
        return cls(events=list(target.events), **target.model_dump(include={"id", "url", "since", "is_set"}))


class CreatedWebhook(ShownWebhook):
    """An address and, this once, the secret that its events are signed with."""

    secret: str


class WebhookList(Shown):
    """The webhooks of a tenant."""

    data: list[ShownWebhook]


class Attempted(Shown):
    """How sending went: `detail` says why it was not taken."""

    delivered: bool
    seconds: float
    detail: str | None = None


class LetterList(Shown):
    """What was given up, the oldest first, and behind which the next page begins."""

    data: list[DeadLetter]
    next: str | None


async def attempt(means: Means, target: WebhookTarget, id: str, body: str) -> Attempted:
    """Send something to a target, once."""
    needed()
    began, detail = time.monotonic(), None
    try:
        await means.post.send(target, id, body)
    except Undelivered as reason:
        detail = str(reason)
    return Attempted(delivered=detail is None, seconds=round(time.monotonic() - began, 3), detail=detail)


async def attempt_test(means: Means, target: WebhookTarget) -> Attempted:
    """Send an event of the type `test`."""
    data = {"tenant": target.tenant, "webhook": target.id}
    body = json.dumps({"type": "test", "timestamp": moment_text(utc_now()), "data": data})
    return await attempt(means, target, f"msg_{means.ids()}", body)


def webhook_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router = APIRouter(prefix="/v1/admin/webhooks", tags=["administration"])
    means = means_of(conversations, settings)
    _managing(router, means)
    _trying(router, means)
    return router


def _managing(router: APIRouter, means: Means) -> None:
    targets, admin = means.targets, means.conversations.admin

    @router.get("", summary="The webhooks of the tenant, without their secrets")
    async def listing(who: Admin) -> WebhookList:
        return WebhookList(data=[ShownWebhook.of(each) for each in await targets.of(who.scope.tenant)])

    @router.post("", status_code=201, summary="Send what happens in the tenant to an address, and show its secret once")
    async def create(who: Admin, body: NewWebhook) -> CreatedWebhook:
        needed()
        target = await targets.add(who.scope.tenant, body.url, body.events)
        await admin.record(who.scope.tenant, "webhook.created", f"webhook:{target.id}")
        shown = ShownWebhook.of(target).model_dump()
        return CreatedWebhook(**shown, secret=target.secret.get_secret_value())

    @router.delete("/{webhook}", status_code=204, response_class=Response, summary="Send nothing there any more")
    async def remove(who: Admin, webhook: WebhookId) -> None:
        await targets.remove(who.scope.tenant, webhook)
        await admin.record(who.scope.tenant, "webhook.removed", f"webhook:{webhook}")


def _trying(router: APIRouter, means: Means) -> None:
    targets = means.targets

    @router.post("/{webhook}/test", summary="Send a test there, and tell how that went")
    async def test(who: Admin, webhook: WebhookId) -> Attempted:
        return await attempt_test(means, await targets.find(who.scope.tenant, webhook))

    @router.get("/{webhook}/dead", summary="What was given up, the oldest first")
    async def dead(
        who: Admin,
        webhook: WebhookId,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        after: Annotated[str, Query(max_length=128)] = "",
    ) -> LetterList:
        target = await targets.find(who.scope.tenant, webhook)
        letters = await targets.buried(target, limit=limit + 1, after=after)
        return LetterList(data=letters[:limit], next=letters[limit - 1].id if len(letters) > limit else None)

    @router.post("/{webhook}/dead/{letter}", summary="Send what was given up again; it is forgotten if that is taken")
    async def again(who: Admin, webhook: WebhookId, letter: LetterId) -> Attempted:
        target = await targets.find(who.scope.tenant, webhook)
        found = await targets.letter(target, letter)
        handle = await means.conversations.admin.conversation(target.tenant, found.conversation, act=None)
        entries = (await handle.reading.log(Cursor(seq=found.seq - 1), limit=1)).entries
        wanted = target.model_copy(update={"events": (found.type,)})
        events = [
            each for entry in entries for each in sendable(wanted, handle.scope, entry) if each.place == found.index
        ]
        if not events:
            raise WebhookNotFound
        tried = await attempt(means, target, events[0].id, events[0].body)
        if tried.delivered:
            await targets.dig_up(target, found)
        return tried
