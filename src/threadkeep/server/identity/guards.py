"""Who is asking: every route takes an identity, and everything that it does is done in that identity's scope."""

from dataclasses import replace
from typing import Annotated, Protocol

from fastapi import Depends
from starlette.requests import HTTPConnection

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.value import Value
from threadkeep.errors import NotAllowed, NotAuthenticated
from threadkeep.server.middleware.origins import is_our_page

IDENTITY = "threadkeep.identity"
"""Where a request's scope remembers who sent it."""
SAFE = ("GET", "HEAD", "OPTIONS")


class Identity(Value):
    """A user of a tenant, and its role. `credential` is the digest of the key or login that it showed, if any; `login`
    is set for a login, which a browser may also send for pages of other sites."""

    scope: Scope
    role: KeyRole = KeyRole.USER
    credential: bytes | None = None
    login: str | None = None


class Guard(Protocol):
    """Finds out who sent a request. Other ways to sign in come in as other guards."""

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return who is asking, or raise `NotAuthenticated`."""

    async def is_valid(self, identity: Identity) -> bool:
        """Whether an identity is still valid: streams ask from time to time."""


LOCAL_IDENTITY = Identity(scope=LOCAL, role=KeyRole.ADMIN)
"""Without authentication there is one person: whoever sits at this machine."""


class OpenGuard:
    """Lets everybody in as the local user. Only for loopback."""

    async def identify(self, connection: HTTPConnection) -> Identity:
        return LOCAL_IDENTITY

    async def is_valid(self, identity: Identity) -> bool:
        return True


async def identify(connection: HTTPConnection) -> Identity:
    """Return who sent this request, or refuse it."""
    guard: Guard = connection.app.state.guard
    identity = await guard.identify(connection)
    if connection.scope["method"] not in SAFE:
        _check_page(connection, identity)
    connection.scope[IDENTITY] = identity
    CALLER.set(replace(CALLER.get(), actor=f"user:{identity.scope.user}"))
    return identity


async def identify_actor(connection: HTTPConnection) -> Identity:
    """Return who sent a GET that has effects: a cookie alone does not prove that the user wanted it."""
    identity = await identify(connection)
    _check_page(connection, identity)
    return identity


def _check_page(connection: HTTPConnection, identity: Identity) -> None:
    if identity.login is not None and not is_our_page(connection):
        raise NotAuthenticated("A request with a cookie must come from this server's own page.")


async def identify_admin(connection: HTTPConnection) -> Identity:
    """Return the administrator who sent this request, or refuse it."""
    identity = await identify(connection)
    if identity.role is not KeyRole.ADMIN:
        raise NotAllowed
    return identity


Who = Annotated[Identity, Depends(identify)]
Actor = Annotated[Identity, Depends(identify_actor)]
Admin = Annotated[Identity, Depends(identify_admin)]
