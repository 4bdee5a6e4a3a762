"""Who asks, in the ways that clients of `assistant-cloud` say it, and tokens for browsers.

A client that has an `apiKey` names its user and workspace in headers of its own: they are read as `Threadkeep-User` of
a service's key, whose tenant is the workspace. `authToken` is any token that is good here and says when it ends.
"""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Annotated, Protocol

from fastapi import APIRouter, Header, Request

from threadkeep.conversation.clock import utc_now
from threadkeep.errors import NotAllowed
from threadkeep.server.identity.guards import FOR_USER, Identity, OpenGuard, Who
from threadkeep_protocols.ai_sdk.showing import Json

USER = "aui-user-id"
TOKEN_SECONDS = 900
FOR_EVER = timedelta(days=365)


class TokenMaker(Protocol):
    """Makes tokens of minutes; on `app.state.tokens` where people sign in."""

    async def make(
        self, who: Identity, seconds: float, conversation: str | None, *, writes: bool
    ) -> tuple[str, datetime]:
        """Return a token for a user, and when it ends."""


def name_user(request: Request) -> None:
    """Read the user whom a client names as the one for whom a service acts."""
    headers: list[tuple[bytes, bytes]] = request.scope["headers"]
    names = {name for name, _ in headers}
    if FOR_USER.lower().encode() not in names:
        named = [(FOR_USER.lower().encode(), value) for name, value in headers if name == USER.encode()]
        request.scope["headers"] = [*headers, *named]


async def check_workspace(
    who: Who,
    aui_workspace_id: Annotated[str | None, Header()] = None,
    aui_user_id: Annotated[str | None, Header()] = None,
) -> None:
    """Refuse a workspace that is neither the tenant nor the user's own: there is no other here."""
    if aui_workspace_id not in (None, who.scope.tenant, aui_user_id):
        raise NotAllowed("The workspace is the tenant of the key, or the user.")


def add_people(router: APIRouter) -> None:
    """Add tokens: for a browser whose server has a key; and, where everybody is the local user, for anybody."""

    @router.post("/auth/tokens")
    async def token(request: Request, who: Who) -> Json:
        if isinstance(request.app.state.guard, OpenGuard):
            return {"token": _anonymous(timedelta(seconds=TOKEN_SECONDS))}
        tokens: TokenMaker | None = getattr(request.app.state, "tokens", None)
        if tokens is None:
            raise NotAllowed("This server gives no tokens.")
        made, _ = await tokens.make(who, TOKEN_SECONDS, None, writes=True)
        return {"token": made}

    @router.post("/auth/tokens/anonymous")
    @router.post("/auth/tokens/refresh")
    async def anonymous(request: Request, who: Who) -> Json:
        if not isinstance(request.app.state.guard, OpenGuard):
            raise NotAllowed("Nobody is anonymous here.")
        until = (utc_now() + FOR_EVER).astimezone(UTC).isoformat()
        refresh = {"token": "local", "expires_at": until}
        return {"access_token": _anonymous(timedelta(seconds=TOKEN_SECONDS)), "refresh_token": refresh}


def _anonymous(lasts: timedelta) -> str:
    """Return what looks like a token, for clients that want one of a server that asks for none."""
    claims = {"sub": "local", "exp": int((utc_now() + lasts).timestamp())}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."
