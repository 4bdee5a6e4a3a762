"""All ways to sign in, as one guard: whoever knows what a request shows decides, and API keys come last."""

from collections.abc import Sequence
from typing import Any, Protocol

from fastapi import FastAPI
from starlette.requests import HTTPConnection

from threadkeep.assistants import named_here
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.api_keys import ApiKeyGuard
from threadkeep.server.identity.guards import Guard, Identity
from threadkeep.settings import Settings
from threadkeep_identity.fetching import needed
from threadkeep_identity.issuers import Issuer, JwtWay
from threadkeep_identity.oidc import Provider, oidc_routes
from threadkeep_identity.proxies import ProxyWay
from threadkeep_identity.tables import IdentityTable
from threadkeep_identity.tokens import Tokens, token_routes


class Way(Protocol):
    """One way to sign in: None for a request that shows nothing of its kind."""

    @property
    def identifies(self) -> type[Identity]:
        """Whom it lets in."""

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        """Return who is asking; raise `NotAuthenticated` if what was shown is not good."""

    async def is_valid(self, identity: Identity) -> bool:
        """Whether somebody whom it let in may stay."""


class Ways:
    """A guard of several ways, each of which leaves alone what it does not know, in front of the API keys. `own` is a
    guard that the settings name; it may return None for what it does not know, and is asked first."""

    def __init__(self, ways: Sequence[Way], keys: Guard, own: Any = None) -> None:
        self._ways = ways
        self._keys = keys
        self._own = own

    async def identify(self, connection: HTTPConnection) -> Identity:
        if self._own is not None and (found := await self._own.identify(connection)) is not None:
            return OwnIdentity(**dict(found))
        for way in self._ways:
            if (identity := await way.identify(connection)) is not None:
                return identity
        return await self._keys.identify(connection)

    async def is_valid(self, identity: Identity) -> bool:
        if isinstance(identity, OwnIdentity):
            return bool(await self._own.is_valid(identity))
        for way in self._ways:
            if isinstance(identity, way.identifies):
                return await way.is_valid(identity)
        return await self._keys.is_valid(identity)


class OwnIdentity(Identity):
    """Somebody whom the guard of the settings lets in."""


def add_ways(app: FastAPI, conversations: Conversations, settings: Settings, keys: ApiKeyGuard) -> Guard:
    """Add what the table `[identity]` says, and tokens for browsers, to an application."""
    table = settings.identity or IdentityTable()
    own = None if table.guard is None else _own_guard(table.guard, conversations, settings)
    ways: list[Way] = []
    if table.jwt:
        needed("jwt")
        ways.append(JwtWay(tuple(Issuer(each) for each in table.jwt)))
    if table.proxy is not None:
        ways.append(ProxyWay(table.proxy))
    tokens = app.state.tokens = Tokens(conversations, table, keys)
    app.include_router(token_routes(tokens, conversations))
    if table.oidc is not None:
        needed("oidc")
        app.include_router(oidc_routes(Provider(table.oidc, conversations.admin.keyring), keys, settings))
    return Ways([tokens, *ways], keys, own)


def _own_guard(name: str, conversations: Conversations, settings: Settings) -> Any:
    found = named_here("The guard", name)
    if isinstance(found, type) or not hasattr(found, "identify"):
        found = found(conversations, settings) if callable(found) else found
    if not hasattr(found, "identify") or not hasattr(found, "is_valid"):
        raise InvalidValue(f"The guard {name} has no identify and is_valid.")
    return found
