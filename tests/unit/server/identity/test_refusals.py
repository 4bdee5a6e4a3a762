"""Refusals on record: whose tenant hears of them, and that a stranger cannot fill the log."""

from tests.integration.serving import serving
from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.runtime import open_store
from threadkeep.server.identity.refusals import MOST_RECORDED, QUIET_SECONDS, Refusals


async def test_an_address_is_recorded_once_a_minute_with_how_often_it_was_refused() -> None:
    store, now = await open_store("memory:"), 0.0
    refusals = Refusals(store.audit, "operators", lambda: now)
    for _ in range(50):
        await refusals.refuse("192.0.2.1", None)
    await refusals.refuse("192.0.2.2", None)
    now += QUIET_SECONDS
    await refusals.refuse("192.0.2.1", None)
    records = [record.act for record in await store.audit.read("operators")]
    assert [(act.action, act.object, act.details) for act in records] == [
        ("access.refused", "key:unknown", {"times": 1}),
        ("access.refused", "key:unknown", {"times": 1}),
        ("access.refused", "key:unknown", {"times": 50}),
    ]


async def test_a_flood_from_many_addresses_leaves_few_records() -> None:
    store, now = await open_store("memory:"), 0.0
    refusals = Refusals(store.audit, "operators", lambda: now)
    for number in range(5_000):
        await refusals.refuse(f"192.0.2.{number}", None)
    now += QUIET_SECONDS
    for number in range(5_000, 10_000):
        await refusals.refuse(f"192.0.2.{number}", None)
    details = [record.act.details for record in await store.audit.read("operators", limit=1000)]
    assert len(details) == 2 * (MOST_RECORDED + 1)
    together = [each["times"] for each in details if each.get("others")]
    assert together == [1, 5_000 - MOST_RECORDED]


async def test_the_tenant_of_a_key_that_was_good_hears_of_it() -> None:
    store, scope = await open_store("memory:"), Scope(tenant="acme", user="ada")
    key = ApiKey(id="one", digest=digest_of(new_secret()), hint="tk_", scope=scope, created_at=utc_now())
    await Refusals(store.audit, "operators").refuse("192.0.2.1", key)
    assert [record.act.object for record in await store.audit.read("acme")] == ["key:one"]
    assert await store.audit.read("operators") == ()


async def test_a_revoked_key_and_a_request_for_too_much_are_on_record_in_their_tenant() -> None:
    async with serving(auth="keys", operator_tenant="operators") as server:
        gone, old = await server.key("acme", "bob")
        await server.conversations.admin.keyring.revoke(gone.id, utc_now())
        _, ada = await server.key("acme", "ada")
        for headers in (old, old):
            assert (await server.client.get("/v1/me", headers=headers)).status_code == 401
        assert (
            await server.client.get("/v1/me", headers={"Authorization": f"Bearer {new_secret()}"})
        ).status_code == 401
        assert (await server.client.get("/v1/admin/usage", headers=ada)).status_code == 403
        assert (await server.client.get("/v1/export?of=tenant", headers=ada)).status_code == 403
        refused, denied = [record.act for record in await server.conversations.admin.audit.read("acme")]
        assert (refused.action, refused.object, refused.actor) == ("access.refused", f"key:{gone.id}", "anonymous")
        assert (refused.address, bool(refused.request)) == ("127.0.0.1", True)
        assert (denied.action, denied.object) == ("access.denied", "route:/v1/admin/usage")
        assert denied.actor == server.conversations.admin.audit.alias("acme", "user:ada")
        (unknown,) = await server.conversations.admin.audit.read("operators")
        assert unknown.act.object == "key:unknown"


async def test_who_signs_in_and_out_is_on_record() -> None:
    async with serving(auth="keys") as server:
        key, ada = await server.key("acme", "ada")
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        secret = ada["Authorization"].removeprefix("Bearer ")
        audit, page = server.conversations.admin.audit, {"Origin": server.url}
        assert (await server.client.post("/v1/login", json={"key": secret}, headers=page)).status_code == 204
        assert (await server.client.post("/v1/logout", headers=page)).status_code == 204
        assert (await server.client.post("/v1/login", json={"key": secret}, headers=page)).status_code == 204
        server.client.cookies.clear()
        (login,) = (await server.client.get("/v1/admin/logins", headers=root)).json()["data"]
        assert (await server.client.delete(f"/v1/logins/{login['id']}", headers=root)).status_code == 204
        records = [record.act for record in await audit.read("acme")]
        assert [act.action for act in records] == [
            "login.began",
            "login.ended",
            "login.began",
            "logins.listed",
            "login.ended",
        ]
        assert [act.actor for act in records] == [
            audit.alias("acme", f"user:{user}") for user in ("ada", "ada", "ada", "root", "root")
        ]
        assert records[0].details == {"user": audit.alias("acme", "user:ada"), "key": key.id}
        assert records[-1].object == f"login:{login['id']}"
