"""Who is asking: every route takes an identity, and everything that it does is done in that identity's scope."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Protocol

from fastapi import Depends
from starlette.requests import HTTPConnection

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.value import Moment, Value, check_text
from threadkeep.errors import ConversationNotFound, NotAllowed, NotAuthenticated
from threadkeep.server.middleware.origins import is_our_page

IDENTITY = "threadkeep.identity"
"""Where a request's scope remembers who sent it."""
SAFE = ("GET", "HEAD", "OPTIONS")
READ_BY_POST = ("/v1/search",)
LOOKS_ITSELF = "threadkeep_looks_itself"
"""The mark of a route that looks itself what a caller may do who may only read."""
FOR_USER = "Threadkeep-User"
"""The header in which a service names the user for whom it acts."""
ONE_CONVERSATION = "/v1/conversations/{id}"


class Identity(Value):
    """A user of a tenant, its role, and what it may do here.

    `credential` is the digest of the key or login that it showed, if any; `login` is set for a login. `is_ambient`:
    browsers send what it showed by themselves, also for pages of other sites. Past `expires_at` it is nobody, and its
    streams end. Without `writes` it only reads, with `conversation` only that one; `service` acts for this user.
    """

    scope: Scope
    role: KeyRole = KeyRole.USER
    credential: bytes | None = None
    login: str | None = None
    is_ambient: bool = False
    expires_at: Moment | None = None
    writes: bool = True
    conversation: str | None = None
    service: str | None = None

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and now >= self.expires_at


class Guard(Protocol):
    """Finds out who sent a request: a way to sign in. `Settings` choose among ours; `create_app` takes one of yours."""

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return who is asking, or raise `NotAuthenticated`."""

    async def is_valid(self, identity: Identity) -> bool:
        """Whether an identity is still valid: open streams ask several times a second."""


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
    identity = _for_user(connection, await guard.identify(connection))
    if identity.has_expired(utc_now()):
        raise NotAuthenticated("What you showed has expired.")
    connection.scope[IDENTITY] = identity
    via = f"user:{identity.service}" if identity.service else None
    CALLER.set(replace(CALLER.get(), actor=f"user:{identity.scope.user}", via=via))
    if connection.scope["method"] not in SAFE and _path(connection) not in READ_BY_POST:
        _check_may_act(connection, identity)
    if identity.conversation is not None:
        _check_conversation(connection, identity.scope, identity.conversation)
    return identity


async def identify_actor(connection: HTTPConnection) -> Identity:
    """Return who sent a GET that has effects: a cookie alone does not prove that the user wanted it."""
    identity = await identify(connection)
    _check_may_act(connection, identity)
    return identity


def _for_user(connection: HTTPConnection, identity: Identity) -> Identity:
    """Return the user for whom a service acts, which only a service may and must name."""
    named = connection.headers.getlist(FOR_USER)
    if identity.role is not KeyRole.SERVICE:
        if named:
            raise NotAllowed(f"Only a key with the role service may name a user in {FOR_USER}.")
        return identity
    if len(named) != 1 or not named[0]:
        raise NotAllowed(f"A key with the role service names the user for whom it acts, once, in {FOR_USER}.")
    scope = Scope(tenant=identity.scope.tenant, user=id_of(check_text(named[0].encode("latin-1"))))
    return identity.model_copy(update={"scope": scope, "role": KeyRole.USER, "service": identity.scope.user})


def _check_may_act(connection: HTTPConnection, identity: Identity) -> None:
    if not identity.writes and not hasattr(connection.scope.get("endpoint"), LOOKS_ITSELF):
        raise NotAllowed("This is for reading only.")
    if (identity.login is not None or identity.is_ambient) and not is_our_page(connection):
        raise NotAuthenticated("A request with a cookie must come from this server's own page.")


def _check_conversation(connection: HTTPConnection, scope: Scope, conversation: str) -> None:
    """Refuse what is not about the one conversation that the caller may use, or would outlive its permission."""
    path, is_deletion = _path(connection), connection.scope["method"] == "DELETE"
    if path == "/v1/me":
        return
    if not path.startswith(ONE_CONVERSATION) or path.startswith(f"{ONE_CONVERSATION}/shares") or is_deletion:
        raise NotAllowed("This is for one conversation only, to read it and to talk in it.")
    id = str(connection.path_params["id"])
    if conversation not in (id, scope.own_id(id)):
        raise ConversationNotFound


def _path(connection: HTTPConnection) -> str:
    """Return the path of the route, with the names of its parts."""
    return str(getattr(connection.scope.get("route"), "path", ""))


async def identify_admin(connection: HTTPConnection) -> Identity:
    """Return the administrator who sent this request, or refuse it."""
    identity = await identify(connection)
    if identity.role is not KeyRole.ADMIN:
        raise NotAllowed
    return identity


Who = Annotated[Identity, Depends(identify)]
Actor = Annotated[Identity, Depends(identify_actor)]
Admin = Annotated[Identity, Depends(identify_admin)]
