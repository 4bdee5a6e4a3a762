"""What lets people and programs in: API keys, which administrators make for their own tenant and whose secrets are
shown once; and signing in and out for the page, a key for a login that the browser keeps.
"""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field

from threadkeep.conversation.api_key import ApiKey, KeyRole, Login
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.errors import KeyNotFound
from threadkeep.server.identity.api_keys import ApiKeyGuard, set_login_cookie
from threadkeep.server.identity.guards import Admin, Who
from threadkeep.server.limits import within_rate
from threadkeep.server.requests import Body, Lasts, SentText
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


class LoginBody(Body):
    """A key."""

    key: SentText = Field(min_length=1, max_length=200, examples=["tk_..."])


class ShownLogin(Shown):
    """A browser that is signed in. `device` is what it says of itself; `is_this` is whether it asks."""

    id: str
    user: str
    device: str
    created_at: Moment
    idle_until: Moment
    ends_at: Moment
    is_this: bool


class LoginList(Shown):
    """Logins, oldest first."""

    data: list[ShownLogin]


def login_routes(guard: ApiKeyGuard, conversations: Conversations) -> APIRouter:
    router, counted = APIRouter(prefix="/v1", tags=["signing in"]), [Depends(within_rate)]
    keyring = conversations.admin.keyring

    @router.post("/login", status_code=204, response_class=Response, summary="Sign in: a key for a cookie")
    async def log_in(body: LoginBody, request: Request, response: Response) -> None:
        secret, login = await guard.log_in(request, body.key)
        set_login_cookie(request, response, secret, (login.ends_at - login.created_at).total_seconds())

    @router.post("/logout", status_code=204, response_class=Response, summary="Sign out, and end the login")
    async def log_out(request: Request, response: Response) -> None:
        await guard.log_out(request)
        set_login_cookie(request, response, "", 0)
        response.headers["Clear-Site-Data"] = '"cache"'  # files that were looked at are somebody's, too

    @router.get("/logins", dependencies=counted, summary="Where you are signed in")
    async def logins(who: Who) -> LoginList:
        return _list(who, await keyring.logins(who.scope.tenant, who.scope.user))

    @router.get("/admin/logins", dependencies=counted, summary="Where the users of the tenant are signed in")
    async def tenant_logins(who: Admin) -> LoginList:
        await conversations.admin.record(who.scope.tenant, "logins.listed", f"tenant:{who.scope.tenant}")
        return _list(who, await keyring.logins(who.scope.tenant))

    @router.delete(
        "/logins/{login}", status_code=204, response_class=Response, dependencies=counted, summary="Sign out elsewhere"
    )
    async def end(who: Who, login: str) -> None:
        user = None if who.role is KeyRole.ADMIN else who.scope.user
        for found in await keyring.logins(who.scope.tenant, user):
            if found.id == login:
                return await guard.end(found)
        raise KeyNotFound("There is no such login.")

    return router


def _list(who: Who, logins: tuple[Login, ...]) -> LoginList:
    known = [(login, login.model_dump(exclude={"digest", "key"})) for login in logins]
    return LoginList(
        data=[ShownLogin(user=login.key.scope.user, is_this=login.id == who.login, **fields) for login, fields in known]
    )
