"""The audit log, for administrators of a tenant: who did what, to what, when and from where."""

import json
from collections.abc import AsyncIterator, Sequence, Set
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import StreamingResponse

from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Admin
from threadkeep.server.limits import room_for_export
from threadkeep.server.negotiation import LINES, wants_lines
from threadkeep.server.responses import Shown
from threadkeep.store.audit import MAX_ACTS, PAGE, USER, Audited, Wanted


class ShownAct(Shown):
    """A record. A person is `user:` and a pseudonym; `hash` holds it and the record before it together."""

    tenant: str
    seq: int
    at: Moment
    actor: str
    action: str
    object: str
    details: dict[str, Any]
    address: str
    request: str
    hash: str

    @classmethod
    def of(cls, tenant: str, record: Audited) -> "ShownAct":
        """Return a record of a tenant as it is shown."""
        return cls(tenant=tenant, seq=record.seq, hash=record.hash, **record.act.model_dump())


class AuditPage(Shown):
    """Records, the newest first, the names of the people in them who are still known, by pseudonym, and where the next
    page begins."""

    data: list[ShownAct]
    names: dict[str, str]
    next: int | None


Filter = Annotated[str | None, Query(max_length=300, pattern=r"^[^\x00]*$")]


def _filtered(
    actor: Filter = None,
    action: Filter = None,
    object: Filter = None,  # noqa: A002 - what the parameter is called
    since: Annotated[Moment | None, Query(alias="from")] = None,
    until: Annotated[Moment | None, Query(alias="to")] = None,
) -> Wanted:
    return Wanted(actor=actor, actions=(action,) if action else (), object=object, since=since, until=until)


def audit_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["administration"])

    @router.get(
        "/audit",
        response_model=AuditPage,
        dependencies=[Depends(room_for_export)],
        responses={200: {"content": {LINES: {}}}},
        summary="Who did what: a page, or all of it as JSON Lines",
    )
    async def read(
        request: Request,
        who: Admin,
        filtered: Annotated[Wanted, Depends(_filtered)],
        limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
        after: Annotated[int | None, Query(ge=1, le=MAX_ACTS)] = None,
    ) -> Any:
        tenant = who.scope.tenant
        await conversations.admin.record(tenant, "audit.read", f"tenant:{tenant}")
        if wants_lines(request.headers.get("accept", "")):
            return StreamingResponse(_lines(conversations, tenant, replace(filtered, after=after)), media_type=LINES)
        wanted = replace(filtered, after=after, newest_first=True)
        found = await conversations.admin.audit.read(tenant, wanted, limit=limit)
        data = [ShownAct.of(tenant, record) for record in found]
        return AuditPage(
            data=data,
            names=await names_of(conversations, tenant, _texts(data)),
            next=data[-1].seq if len(data) == limit and data[-1].seq > 1 else None,
        )

    return router


async def _lines(conversations: Conversations, tenant: str, wanted: Wanted) -> AsyncIterator[str]:
    """Yield all records, the oldest first."""
    async for record in conversations.admin.audit.walk(tenant, wanted):
        yield json.dumps(ShownAct.of(tenant, record).model_dump(mode="json"), ensure_ascii=False) + "\n"


def _texts(shown: Sequence[ShownAct]) -> set[str]:
    texts = (text for act in shown for text in (act.actor, act.object, *act.details.values()))
    return {text for text in texts if isinstance(text, str)}


async def names_of(conversations: Conversations, tenant: str, named: Set[str]) -> dict[str, str]:
    """Return the names behind pseudonyms, of people who have conversations or a key; erased ones have no name."""
    keys = await conversations.admin.keyring.all(tenant)
    known = {*await conversations.admin.users(tenant), *(key.scope.user for key in keys)}
    aliases = {conversations.admin.audit.alias(tenant, f"{USER}{user}"): user for user in sorted(known)}
    return {alias: user for alias, user in aliases.items() if alias in named}
