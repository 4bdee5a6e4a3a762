"""What claims say of somebody: tenant, user, role and scopes, where the settings look for them."""

from typing import Any

import pytest

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.errors import NotAllowed, NotAuthenticated
from threadkeep_identity.claims import person
from threadkeep_identity.tables import Claims

SAID: dict[str, Any] = {
    "sub": "auth0|17",
    "org": {"name": "acme"},
    "https://example.org/org": "globex",
    "realm_access": {"roles": ["staff", "chat-admin"]},
    "scope": "openid chat:read",
}


def read(table: dict[str, Any], **more: Any) -> dict[str, Any]:
    return person({**SAID, **more}, Claims(**table))


def test_the_tenant_is_named_by_the_settings_or_by_a_claim() -> None:
    for table, tenant in (
        ({"tenant": "one"}, "one"),
        ({"tenant_claim": "org.name"}, "acme"),
        ({"tenant_claim": "https://example.org/org"}, "globex"),
    ):
        assert read(table)["scope"] == Scope(tenant=tenant, user="auth0__7C17")


@pytest.mark.parametrize("org", [None, "", {"name": ""}, {"name": 7}, {"name": ["acme"]}, {"name": "x" * 1001}])
def test_a_claim_that_names_nobody_lets_nobody_in(org: object) -> None:
    with pytest.raises(NotAuthenticated):
        read({"tenant_claim": "org.name"}, org=org)


def test_a_role_is_one_of_ours_only_if_the_settings_say_so() -> None:
    where = {"tenant": "acme", "role_claim": "realm_access.roles"}
    assert read({"tenant": "acme"}, role="admin")["role"] is KeyRole.USER
    assert read(where)["role"] is KeyRole.USER
    assert read({**where, "admin": "chat-admin"})["role"] is KeyRole.ADMIN
    assert read({**where, "service": "staff"})["role"] is KeyRole.SERVICE
    assert read({**where, "admin": "chat"})["role"] is KeyRole.USER


def test_scopes_say_who_may_read_and_who_may_write() -> None:
    both = {"tenant": "acme", "read": "chat:read", "write": "chat:write"}
    assert read(both)["writes"] is False
    assert read(both, scope="chat:write")["writes"] is True
    assert read(both, scope=["chat:read", "chat:write"])["writes"] is True
    assert read({"tenant": "acme", "read": "chat:read"})["writes"] is True
    for table, scope in ((both, "openid"), (both, None), (both, 7), ({"tenant": "acme", "write": "w"}, "chat:read")):
        with pytest.raises(NotAllowed):
            read(table, scope=scope)
