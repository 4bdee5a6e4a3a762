"""For administrators, of their own tenant: the API keys that let people and programs in. A secret is shown once."""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Response

from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Admin
from threadkeep.server.requests import Body, Lasts
from threadkeep.server.responses import Shown


class NewKey(Body):
    """Whom a key is for, what the holder may do, and for how long."""

    user: Id
    role: KeyRole = KeyRole.USER
    expires: Lasts = None


class ShownKey(Shown):
    """A key without its secret; `hint` is how that begins."""

    id: str
    hint: str
    user: str
    role: KeyRole
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None

    @classmethod
    def of(cls, api_key: ApiKey, **more: Any) -> Self:
        """Return a key in this shape."""
        return cls(user=api_key.scope.user, **api_key.model_dump(exclude={"digest", "scope"}), **more)


class CreatedKey(ShownKey):
    """A key and, this once, its secret."""

    key: str


class KeyList(Shown):
    """All keys of a tenant, oldest first."""

    data: list[ShownKey]


def api_key_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/admin/keys", tags=["administration"])
    admin = conversations.admin

    @router.get("", summary="The API keys of the tenant, without their secrets")
    async def listing(who: Admin) -> KeyList:
        await admin.record(who.scope.tenant, "keys.listed", f"tenant:{who.scope.tenant}")
        return KeyList(data=[ShownKey.of(key) for key in await admin.keyring.all(who.scope.tenant)])

    @router.post("", status_code=201, summary="Make a key for a user of the tenant, and show it once")
    async def create(who: Admin, body: NewKey) -> CreatedKey:
        scope = Scope(tenant=who.scope.tenant, user=body.user)
        secret, key = await admin.create_key(scope, body.role, body.expires)
        return CreatedKey.of(key, key=secret)

    @router.delete("/{key}", status_code=204, response_class=Response, summary="Make a key of the tenant useless")
    async def revoke(who: Admin, key: Annotated[str, Path(max_length=128)]) -> None:
        await admin.revoke_key(key, who.scope.tenant)

    return router
