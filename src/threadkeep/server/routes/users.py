"""A person and all that is stored about them: `DELETE /v1/users/{user}` erases both for good."""

from fastapi import APIRouter
from pydantic import SecretStr

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import NotAllowed
from threadkeep.retention.erasure import Receipt
from threadkeep.server.identity.guards import Who


def user_routes(conversations: Conversations, audit_key: SecretStr | None) -> APIRouter:
    router = APIRouter(prefix="/v1/users", tags=["administration"])
    key = audit_key.get_secret_value().encode() if audit_key else None

    @router.delete("/{user}", summary="Erase a person of the tenant: conversations, those kept aside, keys and logins")
    async def erase(who: Who, user: Id) -> Receipt:
        if who.role is not KeyRole.ADMIN and user != who.scope.user:
            raise NotAllowed("Only an administrator may erase somebody else.")
        return await conversations.admin.erasure.erase(Scope(tenant=who.scope.tenant, user=user), key)

    return router
