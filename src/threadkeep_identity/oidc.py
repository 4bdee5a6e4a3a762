"""Signing in to the page at a provider of OpenID Connect: the code flow, with PKCE, state and nonce.

What has to be known when somebody comes back is in a cookie of ten minutes, signed with the store's secret, so any
instance can end what another one began. At the end there is a login like any other: it is listed, ends when it is not
used, and an administrator can end it. Its key has no secret that anybody knows.
"""

import hmac
import logging
import secrets
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

import jwt
from fastapi import APIRouter, Request
from jwt.exceptions import PyJWTError
from starlette.responses import RedirectResponse, Response

from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.errors import AlreadyExists, NotAllowed, NotAuthenticated
from threadkeep.server.identity.api_keys import ApiKeyGuard, set_login_cookie
from threadkeep.settings import Settings
from threadkeep.store.keyring import KeyRing
from threadkeep_identity.claims import person
from threadkeep_identity.fetching import Unfetched, discover, fetch_json
from threadkeep_identity.issuers import Issuer
from threadkeep_identity.tables import JwtTable, OidcTable

logger = logging.getLogger("threadkeep.identity")

BACK = "/sign-in/callback"
COOKIE = "threadkeep-sign-in"
SECONDS = 600
HINT = "oidc"
MOST_REVOKED = 1000


class Provider:
    """A provider, and what is asked of it."""

    def __init__(self, table: OidcTable, keyring: KeyRing) -> None:
        self.table = table
        self._keyring = keyring
        claims = table.model_dump(include=set(JwtTable.model_fields) & set(OidcTable.model_fields))
        self._issuer = Issuer(JwtTable(**claims, audience=(table.client_id,)))
        self._described: dict[str, Any] = {}

    async def describe(self) -> dict[str, Any]:
        """Return what it says of itself; asked for until it answers."""
        self._described = self._described or await discover(self.table.issuer)
        return self._described

    async def begin(self) -> tuple[str, str]:
        """Return where to send somebody, and the cookie that must come back with them."""
        about = await self.describe()
        kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        asked = {
            "response_type": "code",
            "client_id": self.table.client_id,
            "redirect_uri": self.table.base + BACK,
            "scope": " ".join(self.table.scopes),
            "state": kept["state"],
            "nonce": kept["nonce"],
            "code_challenge": _challenge(kept["verifier"]),
            "code_challenge_method": "S256",
        }
        signed = {**kept, "exp": int(utc_now().timestamp()) + SECONDS, "aud": COOKIE}
        cookie = jwt.encode(signed, await self._key(), algorithm="HS256")
        joined = "&" if "?" in about["authorization_endpoint"] else "?"
        return f"{about['authorization_endpoint']}{joined}{urlencode(asked)}", cookie

    async def end(self, cookie: str, answered: dict[str, str]) -> ApiKey:
        """Return the key of who comes back; `NotAuthenticated` if anything does not fit."""
        try:
            options: Any = {"require": ["exp"]}
            kept = jwt.decode(cookie, await self._key(), algorithms=["HS256"], audience=COOKIE, options=options)
        except PyJWTError:
            raise NotAuthenticated("Signing in took too long, or began in another browser.") from None
        if not hmac.compare_digest(kept["state"].encode(), answered.get("state", "").encode()):
            raise NotAuthenticated("Signing in began elsewhere.")
        if answered.get("iss", self.table.issuer) != self.table.issuer or "code" not in answered:
            raise NotAuthenticated(f"The provider answered: {answered.get('error', 'nothing')[:100]}.")
        claims = await self._redeem(answered["code"], kept["verifier"])
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), kept["nonce"].encode()):
            raise NotAuthenticated("The provider answered another question.")
        return await self._key_of(claims)

    async def _redeem(self, code: str, verifier: str) -> dict[str, Any]:
        """Return the claims of the ID token that a code is good for."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.table.base + BACK,
            "code_verifier": verifier,
        }
        secret, auth = self.table.client_secret, None
        if secret is None:
            form["client_id"] = self.table.client_id
        else:
            auth = (quote(self.table.client_id, safe=""), quote(secret.get_secret_value(), safe=""))
        answer = await fetch_json((await self.describe())["token_endpoint"], form=form, auth=auth)
        token = str(answer.get("id_token", ""))
        try:
            header = jwt.get_unverified_header(token)
        except PyJWTError:
            raise NotAuthenticated("The provider gave no ID token.") from None
        claims = await self._issuer.check(token, header)
        if claims.get("azp", self.table.client_id) != self.table.client_id:
            raise NotAuthenticated("The ID token is for another program.")
        return claims

    async def _key_of(self, claims: dict[str, Any]) -> ApiKey:
        """Return the key behind the logins of somebody, one for each role. After it was revoked there is another one
        for who signs in at the provider later: that decides who may come in."""
        known, secret = person(claims, self.table), await self._key()
        scope, role = known["scope"], known["role"]
        if role is KeyRole.SERVICE or not known["writes"]:
            raise NotAllowed("Whoever signs in to the page may read and write, and is no service.")
        since = datetime.fromtimestamp(float(claims.get("auth_time") or claims.get("iat") or 0), UTC)
        for number in range(MOST_REVOKED):
            text = "\0".join((self.table.issuer, scope.tenant, scope.user, str(claims["sub"]), role, str(number)))
            digest = hmac.digest(secret, text.encode(), sha256)
            key = ApiKey(id=new_id(), digest=digest, hint=HINT, scope=scope, role=role, created_at=utc_now())
            if (found := await self._keyring.find(digest)) is None:
                try:
                    await self._keyring.add(key)
                except AlreadyExists:  # two browsers at once
                    return await self._key_of(claims)
                return key
            if found.revoked_at is None:
                return found
            if since < found.revoked_at.replace(microsecond=0):
                break
        raise NotAuthenticated("Your access was revoked; sign in at the provider anew.")

    async def _key(self) -> bytes:
        return hmac.digest(await self._keyring.secret(), COOKIE.encode(), sha256)


def oidc_routes(provider: Provider, guard: ApiKeyGuard, settings: Settings) -> APIRouter:
    router, base = APIRouter(include_in_schema=False), provider.table.base
    is_encrypted = base.startswith("https://")
    name = f"__Host-{COOKIE}" if is_encrypted else COOKIE

    def leave(where: str, cookie: str = "", seconds: int = 0) -> Response:
        answer = RedirectResponse(where, 303)
        # Lax: whoever comes back from the provider comes from another site.
        answer.set_cookie(name, cookie, max_age=seconds, httponly=True, samesite="lax", secure=is_encrypted)
        return answer

    @router.get("/sign-in/start")
    async def start() -> Response:
        try:
            where, cookie = await provider.begin()
        except Unfetched as error:
            logger.warning("nobody can sign in: %s", error)
            return leave(f"{base}/?sign-in=failed")
        return leave(where, cookie, SECONDS)

    @router.get(BACK)
    async def back(request: Request) -> Response:
        try:
            key = await provider.end(request.cookies.get(name, ""), dict(request.query_params))
            secret, login = await guard.begin(request, key)
        except (NotAuthenticated, NotAllowed, Unfetched) as error:
            logger.warning("somebody could not sign in: %s", error)
            return leave(f"{base}/?sign-in=failed")
        answer = leave(f"{base}/")
        set_login_cookie(request, answer, secret, (login.ends_at - login.created_at).total_seconds())
        return answer

    @router.get("/sign-in/end")
    async def end() -> Response:
        """Sign out at the provider, too; the login here has ended before."""
        try:
            where = (await provider.describe()).get("end_session_endpoint")
        except Unfetched:
            where = None
        asked = urlencode({"client_id": provider.table.client_id, "post_logout_redirect_uri": f"{base}/"})
        return leave(f"{where}?{asked}" if where else f"{base}/")

    return router


def _challenge(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
