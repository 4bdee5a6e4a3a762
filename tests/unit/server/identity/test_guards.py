"""Who is asking: what a cookie may do, what is for administrators, and who it is that acts."""

from types import SimpleNamespace

import pytest
from starlette.requests import HTTPConnection

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import NotAllowed, NotAuthenticated
from threadkeep.server.identity.guards import (
    IDENTITY,
    LOCAL_IDENTITY,
    Identity,
    OpenGuard,
    identify,
    identify_actor,
    identify_admin,
)
from threadkeep.testing.samples import ADA

WITH_KEY = Identity(scope=ADA)
WITH_COOKIE = Identity(scope=ADA, login="l")


class Knowing(OpenGuard):
    """Takes everybody for the same person."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identify(self, connection: HTTPConnection) -> Identity:
        return self._identity


def asking(identity: Identity, method: str = "GET", **headers: str) -> HTTPConnection:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    app = SimpleNamespace(state=SimpleNamespace(guard=Knowing(identity)))
    return HTTPConnection({"type": "http", "method": method, "scheme": "http", "headers": raw, "app": app})


async def test_without_authentication_everybody_is_the_local_administrator() -> None:
    guard = OpenGuard()
    assert await guard.identify(asking(WITH_KEY)) == LOCAL_IDENTITY
    assert (LOCAL_IDENTITY.scope, LOCAL_IDENTITY.role) == (LOCAL, KeyRole.ADMIN)


async def test_a_request_remembers_who_sent_it_and_the_audit_log_is_told() -> None:
    connection = asking(WITH_KEY)
    assert await identify(connection) == connection.scope[IDENTITY] == WITH_KEY
    assert CALLER.get().actor == "user:ada"


async def test_a_cookie_changes_something_only_from_our_own_page() -> None:
    with pytest.raises(NotAuthenticated):
        await identify(asking(WITH_COOKIE, "POST"))
    assert await identify(asking(WITH_COOKIE, "POST", sec_fetch_site="same-origin")) == WITH_COOKIE
    assert await identify(asking(WITH_COOKIE)) == WITH_COOKIE
    assert await identify(asking(WITH_KEY, "POST")) == WITH_KEY


async def test_a_get_with_effects_needs_more_than_a_cookie() -> None:
    with pytest.raises(NotAuthenticated):
        await identify_actor(asking(WITH_COOKIE))
    assert await identify_actor(asking(WITH_COOKIE, sec_fetch_site="same-origin")) == WITH_COOKIE
    assert await identify_actor(asking(WITH_KEY)) == WITH_KEY


async def test_what_is_for_administrators_is_refused_to_users() -> None:
    with pytest.raises(NotAllowed):
        await identify_admin(asking(WITH_KEY))
    assert (await identify_admin(asking(LOCAL_IDENTITY))).role is KeyRole.ADMIN
