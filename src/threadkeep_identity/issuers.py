"""JSON Web Tokens of other issuers: who signed one, and whether it is good here.

Only the keys of the issuer that the settings name are tried, with the algorithms that they name: whatever a token says
of itself (`alg`, `jku`, `x5u`, `jwk`) chooses no key and is fetched from nowhere.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import jwt
from jwt.exceptions import ExpiredSignatureError, ImmatureSignatureError, InvalidTokenError, PyJWTError
from starlette.requests import HTTPConnection

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.errors import NotAuthenticated
from threadkeep.server.identity.guards import Identity
from threadkeep_identity.claims import ends_at, person
from threadkeep_identity.fetching import discover, fetch_json
from threadkeep_identity.key_sets import KeySet
from threadkeep_identity.tables import JwtTable

LONGEST = 16 * 1024
BAD = "The token is not good here."


class JwtIdentity(Identity):
    """Somebody whom an issuer vouches for, with one of its keys."""

    issuer: int
    key: str | None


class Issuer:
    """One issuer, and the check of its tokens."""

    def __init__(self, table: JwtTable, keys: KeySet | None = None, clock: Clock = utc_now) -> None:
        self.table = table
        self._clock = clock
        self.keys = keys or KeySet(self._published)

    async def _published(self) -> Mapping[str, Any]:
        return await fetch_json(self.table.jwks or str((await discover(self.table.issuer)).get("jwks_uri")))

    async def check(self, token: str, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claims of a token, or raise `NotAuthenticated` with what is wrong."""
        algorithm, table = header.get("alg"), self.table
        if algorithm not in table.accepted or "crit" in header:
            raise NotAuthenticated("The token is signed in a way that is not accepted here.")
        key = await self._key(header, str(algorithm))
        options: Any = {"require": ["exp", "aud", "iss"], "enforce_minimum_key_length": True}
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[str(algorithm)],
                audience=table.audience,
                issuer=table.issuer,
                leeway=table.leeway,
                options=options,
            )
        except ExpiredSignatureError:
            raise NotAuthenticated("The token has expired.") from None
        except ImmatureSignatureError:
            raise NotAuthenticated("The token is not good yet.") from None
        except (InvalidTokenError, PyJWTError, ValueError, TypeError) as error:
            raise NotAuthenticated(f"{BAD[:-1]}: {type(error).__name__}.") from None
        if self._clock() >= ends_at(claims):
            raise NotAuthenticated("The token has expired.")
        return claims

    async def _key(self, header: Mapping[str, Any], algorithm: str) -> Any:
        if self.table.secret is not None:
            return self.table.secret.get_secret_value()
        if self.table.public_key is not None:
            return self.table.public_key
        id = header.get("kid")
        found = await self.keys.find(id if isinstance(id, str) else None)
        if found is None:
            raise NotAuthenticated("The token is signed with a key that its issuer does not publish.")
        if found.algorithm not in (None, algorithm):
            raise NotAuthenticated("The token is signed in a way that its key is not for.")
        return found.key

    def still_has(self, key: str | None) -> bool:
        """Whether a token that was good with this key still is."""
        is_fixed = self.table.secret is not None or self.table.public_key is not None
        return is_fixed or self.keys.known(key) is not None


class JwtWay:
    """Lets in who shows a token of a known issuer."""

    identifies = JwtIdentity

    def __init__(self, issuers: tuple[Issuer, ...]) -> None:
        self._issuers = issuers

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        if (token := bearer(connection)) is None or token.count(".") != 2 or token.startswith(("tk_", "tt_")):
            return None
        header, named = _peek(token)
        refusal = NotAuthenticated("The token comes from an issuer that is not known here.")
        for number, issuer in enumerate(self._issuers):
            if issuer.table.issuer != named:
                continue
            try:
                claims = await issuer.check(token, header)
            except NotAuthenticated as error:
                refusal = error
                continue
            id = header.get("kid")
            found = person(claims, issuer.table)
            until: datetime = ends_at(claims)
            return JwtIdentity(issuer=number, key=id if isinstance(id, str) else None, expires_at=until, **found)
        raise refusal

    async def is_valid(self, identity: Identity) -> bool:
        return isinstance(identity, JwtIdentity) and self._issuers[identity.issuer].still_has(identity.key)


def bearer(connection: HTTPConnection) -> str | None:
    """Return the bearer token of a request, if it has one."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _peek(token: str) -> tuple[dict[str, Any], object]:
    """Return the header and the issuer that a token names, which nothing proves yet."""
    if len(token) > LONGEST:
        raise NotAuthenticated("The token is too long.")
    try:
        read = jwt.decode_complete(token, options={"verify_signature": False})
        return read["header"], read["payload"].get("iss")
    except (PyJWTError, ValueError, TypeError, RecursionError, AttributeError):
        raise NotAuthenticated("The token cannot be read.") from None
