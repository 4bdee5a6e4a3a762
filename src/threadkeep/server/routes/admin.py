"""For administrators, of their own tenant: whose conversations there are, what is in one, how much is stored. And
erasing a person with all that is stored about them, which people may do themselves.
"""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import SecretStr

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import NotAllowed
from threadkeep.retention.erasure import Receipt
from threadkeep.server.identity.guards import Admin, Who
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import ConversationId, ListParameters
from threadkeep.server.responses import ListedConversation, Shown, WholeConversation
from threadkeep.server.routes.conversations import Limit, Place, read_whole


class OwnedConversation(ListedConversation):
    """A conversation and whose it is."""

    user: str


class OwnedList(Shown):
    """A page of conversations of all users, and the cursor of the next page if there is one."""

    data: list[OwnedConversation]
    next: str | None


class ShownUsage(Shown):
    """How much somebody has stored; `bytes` counts text before compression, `file_bytes` what `files` take: of a tenant
    the same content once."""

    user: str | None
    conversations: int
    entries: int
    bytes: int
    files: int
    file_bytes: int


class UsageList(Shown):
    """The whole tenant, and each user of it."""

    tenant: ShownUsage
    users: list[ShownUsage]


def admin_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/admin", tags=["administration"])
    cursors = ListCursors(conversations.admin.keyring)

    @router.get("/conversations", summary="The conversations of all users of the tenant")
    async def listing(who: Admin, asked: Annotated[ListParameters, Query()]) -> OwnedList:
        tenant, filters = who.scope.tenant, asked.filters()
        await conversations.admin.record(tenant, "conversations.listed", f"tenant:{tenant}")
        after = await cursors.read(asked.after)
        page = await conversations.admin.list(tenant, limit=asked.limit, after=after, **filters)
        listed = [(ListedConversation.model_validate(item), item.scope.user) for item in page.items]
        data = [OwnedConversation(**shown.model_dump(), user=user) for shown, user in listed]
        return OwnedList(data=data, next=await cursors.shown(page.next))

    @router.get("/conversations/{id}", summary="Read anybody's conversation, which is put on record")
    async def read(
        who: Admin,
        id: ConversationId,
        limit: Limit = 50,
        before: Place = None,
        head: Place = None,
        around: Place = None,
    ) -> WholeConversation:
        handle = await conversations.admin.conversation(who.scope.tenant, id)
        return await read_whole(handle, messages=limit, before=before, head=head, around=around)

    @router.get("/usage", summary="How much the tenant and its users have stored")
    async def usage(who: Admin) -> UsageList:
        await conversations.admin.record(who.scope.tenant, "usage.read", f"tenant:{who.scope.tenant}")
        users = [
            await _usage(conversations, who.scope.tenant, user)
            for user in await conversations.admin.users(who.scope.tenant)
        ]
        return UsageList(tenant=await _usage(conversations, who.scope.tenant, None), users=users)

    return router


async def _usage(conversations: Conversations, tenant: str, user: str | None) -> ShownUsage:
    counted = await conversations.admin.statistics(tenant, user=user)
    files, file_bytes = await conversations.admin.file_usage(tenant, user=user)
    return ShownUsage(user=user, **asdict(counted), files=files, file_bytes=file_bytes)


def user_routes(conversations: Conversations, audit_key: SecretStr | None) -> APIRouter:
    router = APIRouter(prefix="/v1/users", tags=["administration"])
    key = audit_key.get_secret_value().encode() if audit_key else None

    @router.delete("/{user}", summary="Erase a person of the tenant: conversations, those kept aside, keys and logins")
    async def erase(who: Who, user: Id) -> Receipt:
        if who.role is not KeyRole.ADMIN and user != who.scope.user:
            raise NotAllowed("Only an administrator may erase somebody else.")
        return await conversations.admin.erasure.erase(Scope(tenant=who.scope.tenant, user=user), key)

    return router
