"""Signing in and out for the page: a key for a cookie that scripts cannot read, and back."""

from fastapi import APIRouter, Request, Response
from pydantic import Field

from threadkeep.conversation.value import Text
from threadkeep.errors import NotAuthenticated
from threadkeep.server.bodies import Body
from threadkeep.server.key_guard import COOKIE, KeyGuard

MONTH = 30 * 24 * 3600


class LoginBody(Body):
    """A key."""

    key: Text = Field(min_length=1, max_length=200, examples=["tk_..."])


def login_routes(guard: KeyGuard) -> APIRouter:
    """The routes for one guard."""
    router = APIRouter(prefix="/v1", tags=["signing in"])

    @router.post("/login", status_code=204, response_class=Response, summary="Sign in: a key for a cookie")
    async def login(body: LoginBody, request: Request, response: Response) -> None:
        if await guard.holder(body.key) is None:
            raise NotAuthenticated("This key is not known, or was revoked.")
        response.set_cookie(
            COOKIE,
            body.key,
            max_age=MONTH,
            httponly=True,
            samesite="strict",
            secure=_is_encrypted(request),
            path="/",
        )

    @router.post("/logout", status_code=204, response_class=Response, summary="Sign out")
    async def logout(response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")

    return router


def _is_encrypted(request: Request) -> bool:
    """Whether the page came over TLS; behind a proxy that ends it, only the page's own origin tells."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
