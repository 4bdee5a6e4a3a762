"""Keys over HTTP: an administrator makes and revokes those of its own tenant, sees a secret once; all is on record."""

import re

import pytest

from tests.integration.serving import assert_problem, serving
from threadkeep.conversation.api_key import KeyRole

KEYS = "/v1/admin/keys"


async def test_a_key_lets_its_user_in_until_it_is_revoked_and_is_shown_once() -> None:
    async with serving(auth="keys") as server:
        client, (mine, root) = server.client, await server.key("acme", "root", KeyRole.ADMIN)
        made = await client.post(KEYS, json={"user": "ada", "expires": "90d"}, headers=root)
        assert made.status_code == 201, made.text
        secret, shown = made.json()["key"], {name: value for name, value in made.json().items() if name != "key"}
        assert (shown["user"], shown["role"], shown["hint"]) == ("ada", "user", secret[:9])
        assert shown["expires_at"][:10] > shown["created_at"][:10]
        listed = await client.get(KEYS, headers=root)
        assert [key["id"] for key in listed.json()["data"]] == [mine.id, shown["id"]]
        assert listed.json()["data"][1] == shown
        assert secret not in listed.text
        ada = {"Authorization": f"Bearer {secret}"}
        me = (await client.get("/v1/me", headers=ada)).json()
        assert (me["tenant"], me["user"]) == ("acme", "ada")
        for _ in range(2):
            assert (await client.delete(f"{KEYS}/{shown['id']}", headers=root)).status_code == 204
        assert (await client.get(KEYS, headers=root)).json()["data"][1]["revoked_at"]
        audit = await client.get("/v1/audit", params={"object": f"key:{shown['id']}"}, headers=root)
        assert [act["action"] for act in audit.json()["data"]] == ["key.revoked", "key.created"]
        assert audit.json()["names"] == {act["details"]["user"]: "ada" for act in audit.json()["data"]} | {
            act["actor"]: "root" for act in audit.json()["data"]
        }
        assert "ada" not in re.findall(r"\w+", str([act["details"] for act in audit.json()["data"]]))
        assert secret not in audit.text


async def test_keys_of_another_tenant_are_neither_seen_nor_made_nor_revoked() -> None:
    async with serving(auth="keys") as server:
        client, (_, root) = server.client, await server.key("acme", "root", KeyRole.ADMIN)
        theirs, other = await server.key("globex", "root", KeyRole.ADMIN)
        assert theirs.id not in (await client.get(KEYS, headers=root)).text
        assert_problem(await client.delete(f"{KEYS}/{theirs.id}", headers=root), 404, "key_not_found")
        assert (await client.get("/v1/me", headers=other)).status_code == 200
        named = await client.post(KEYS, json={"tenant": "globex", "user": "eve"}, headers=root)
        assert_problem(named, 422, "invalid_request")
        assert len((await client.get(KEYS, headers=other)).json()["data"]) == 1
        _, ada = await server.key("acme", "ada")
        for method, path in (("GET", KEYS), ("POST", KEYS), ("DELETE", f"{KEYS}/{theirs.id}")):
            body = {"user": "ada", "role": "admin"} if method == "POST" else None
            assert_problem(await client.request(method, path, json=body, headers=ada), 403, "not_allowed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_request"),
        ({"user": ""}, 400, "invalid_id"),
        ({"user": "~ada"}, 400, "invalid_id"),
        ({"user": "ada", "role": "owner"}, 422, "invalid_request"),
        ({"user": "ada", "expires": "-1d"}, 400, "invalid_period"),
        ({"user": "ada", "expires": "soon"}, 400, "invalid_period"),
        ({"user": "ada", "expires": 90}, 400, "invalid_period"),
    ],
)
async def test_a_key_that_makes_no_sense_is_refused(body: dict[str, object], status: int, code: str) -> None:
    async with serving(auth="keys") as server:
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        assert_problem(await server.client.post(KEYS, json=body, headers=root), status, code)
        assert len((await server.client.get(KEYS, headers=root)).json()["data"]) == 1
