"""Tokens of minutes, which a program gets for the browser of one of its users: `POST /v1/tokens`.

A token says itself what it is good for, signed with a key that all instances have, so none is stored. It never allows
more, nor lasts longer, than what it was asked for with, and ends with the key or login that it was asked for with.
One that was taken back is kept among the keys of its user, revoked.
"""

import hmac
import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal

import jwt
from fastapi import APIRouter, Depends
from jwt.exceptions import PyJWTError
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.responses import Response

from threadkeep.conversation.api_key import ApiKey, digest_of
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import Id, new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.errors import AlreadyExists, NotAuthenticated
from threadkeep.server.identity.guards import Guard, Identity, Who
from threadkeep.server.limits import within_rate
from threadkeep.server.requests import Body
from threadkeep.server.responses import Shown
from threadkeep_identity.claims import ends_at
from threadkeep_identity.issuers import bearer
from threadkeep_identity.tables import IdentityTable

PREFIX = "tt_"
AUDIENCE = "threadkeep:tokens"
LOOKED_SECONDS = 0.5
REMEMBERED = 10_000


class TokenIdentity(Identity):
    """Who shows a token: `token` is its id, `login` that of the browser that it was asked for with."""

    token: str
    of_login: str | None = None


class Tokens:
    """Makes tokens, checks them and takes them back; one way to let people in."""

    identifies = TokenIdentity

    def __init__(
        self, conversations: Conversations, table: IdentityTable, guard: Guard, clock: Clock = utc_now
    ) -> None:
        self._keyring = conversations.admin.keyring
        self._audit = conversations.admin
        self._table = table
        self._guard = guard
        self._clock = clock
        self._secret: bytes | None = None
        self._looked_at: OrderedDict[bytes, float] = OrderedDict()

    async def make(
        self, who: Identity, seconds: float, conversation: str | None, *, writes: bool
    ) -> tuple[str, datetime]:
        """Return a token for a user, and when it ends."""
        now = self._clock()
        until = now + timedelta(seconds=min(seconds, self._table.token_seconds))
        until = min(until, who.expires_at or until).replace(microsecond=0)
        login = who.of_login if isinstance(who, TokenIdentity) else who.login
        claims = {
            "aud": AUDIENCE,
            "exp": int(until.timestamp()),
            "jti": new_id(),
            "tenant": who.scope.tenant,
            "sub": who.scope.user,
            "writes": writes and who.writes,
            "conversation": who.conversation or conversation,
            "service": who.service,
            "with": who.credential.hex() if who.credential else None,
            "login": login,
        }
        return PREFIX + jwt.encode(claims, await self._key(), algorithm="HS256"), until

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        token = bearer(connection)
        if token is None or not token.startswith(PREFIX):
            return None
        identity = await self.read(token)
        if not await self.is_valid(identity):
            raise NotAuthenticated("The token was taken back, or what it was asked for with has ended.")
        return identity

    async def read(self, token: str) -> TokenIdentity:
        """Return who shows a token; `NotAuthenticated` if it is none of ours, or is over."""
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token.removeprefix(PREFIX),
                await self._key(),
                algorithms=["HS256"],
                audience=AUDIENCE,
                options={"require": ["exp", "jti"]},
            )
        except (PyJWTError, ValueError, TypeError):
            raise NotAuthenticated("The token is not good, or has expired.") from None
        return TokenIdentity(
            scope=Scope(tenant=claims["tenant"], user=claims["sub"]),
            credential=bytes.fromhex(claims["with"]) if claims["with"] else None,
            expires_at=ends_at(claims),
            writes=claims["writes"],
            conversation=claims["conversation"],
            service=claims["service"],
            token=claims["jti"],
            of_login=claims["login"],
        )

    async def is_valid(self, identity: Identity) -> bool:
        if not isinstance(identity, TokenIdentity):
            return False
        asked_with = Identity(scope=identity.scope, credential=identity.credential, login=identity.of_login)
        if identity.credential is not None and not await self._guard.is_valid(asked_with):
            return False
        return not await self._was_taken_back(_mark(identity))

    async def take_back(self, identity: TokenIdentity) -> None:
        """Let a token end now, and within a second everywhere."""
        now = self._clock()
        mark = ApiKey(
            id=new_id(),
            digest=_mark(identity),
            hint=PREFIX,
            scope=identity.scope,
            created_at=now,
            expires_at=identity.expires_at,
        )
        try:
            await self._keyring.add(mark)
        except AlreadyExists:
            return
        self._looked_at.pop(mark.digest, None)
        await self._keyring.revoke(mark.id, now)
        await self._audit.record(identity.scope.tenant, "token.revoked", f"token:{identity.token}")

    async def _was_taken_back(self, mark: bytes) -> bool:
        if time.monotonic() - self._looked_at.get(mark, float("-inf")) < LOOKED_SECONDS:
            return False
        if await self._keyring.find(mark) is not None:
            return True
        self._looked_at[mark] = time.monotonic()
        self._looked_at.move_to_end(mark)
        if len(self._looked_at) > REMEMBERED:
            self._looked_at.popitem(last=False)
        return False

    async def _key(self) -> bytes:
        if self._secret is None:
            named = self._table.token_key
            own = named.get_secret_value().encode() if named else await self._keyring.secret()
            self._secret = hmac.digest(own, AUDIENCE.encode(), sha256)
        return self._secret


def _mark(identity: TokenIdentity) -> bytes:
    """Return under which digest a token that was taken back stands among the keys."""
    return digest_of("\0".join((AUDIENCE, identity.scope.tenant, identity.scope.user, identity.token)))


class TokenBody(Body):
    """How long a token lasts, at most, what it is for, and whether its holder may also write."""

    seconds: float = Field(default=300, ge=1, le=86_400)
    conversation: Id | None = Field(default=None, description="The only conversation that it is for.")
    access: Literal["read", "write"] = "read"


class ShownToken(Shown):
    """A token, this once, for `Authorization: Bearer`."""

    token: str
    expires_at: Moment


class RevokedToken(Body):
    """A token of the caller's user."""

    token: str = Field(min_length=1, max_length=16_384)


def token_routes(tokens: Tokens, conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/tokens", tags=["signing in"], dependencies=[Depends(within_rate)])

    @router.post("", status_code=201, summary="Get a token of minutes for a browser")
    async def make(who: Who, body: TokenBody) -> ShownToken:
        only = body.conversation and (await conversations.get(body.conversation, scope=who.scope)).id
        token, until = await tokens.make(who, body.seconds, only, writes=body.access == "write")
        return ShownToken(token=token, expires_at=until)

    @router.post("/revoke", status_code=204, response_class=Response, summary="Take a token back")
    async def revoke(who: Who, body: RevokedToken) -> None:
        found = await tokens.read(body.token)
        if found.scope != who.scope:
            raise NotAuthenticated("The token is not good, or has expired.")
        await tokens.take_back(found)

    return router
