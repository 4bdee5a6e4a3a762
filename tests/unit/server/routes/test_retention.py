"""Retention and holds over HTTP: for administrators of a tenant alone, with a stable code for whatever is refused."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.serving import Server, assert_problem, serving
from threadkeep.conversation.api_key import KeyRole

RETENTION, HOLDS = "/v1/admin/retention", "/v1/admin/holds"


@dataclass(frozen=True)
class Office:
    """A server, and what an administrator, a user of that tenant and an administrator of another one show."""

    server: Server
    admin: dict[str, str]
    user: dict[str, str]
    other: dict[str, str]

    async def conversation(self, who: dict[str, str], **fields: Any) -> str:
        created = await self.server.client.post("/v1/conversations", json=fields, headers=who)
        return str(created.json()["id"])


@pytest_asyncio.fixture
async def office() -> AsyncIterator[Office]:
    async with serving(auth="keys") as server:
        _, admin = await server.key("acme", "boss", KeyRole.ADMIN)
        _, user = await server.key("acme", "ada")
        _, other = await server.key("globex", "boss", KeyRole.ADMIN)
        yield Office(server, admin, user, other)


async def test_the_rules_are_read_changed_and_reset(office: Office) -> None:
    client = office.server.client
    read = (await client.get(RETENTION, headers=office.admin)).json()
    assert read == {
        "abandoned_after": "30d",
        "completed_kept": "90d",
        "time_to_live": "forever",
        "temporary_kept": "1h",
        "user_conversations": 0,
        "user_bytes": 0,
        "tenant_bytes": 0,
        "assistants": {},
    }
    own = {"completed_kept": "10d", "assistants": {"shop": {"abandoned_after": "12h", "time_to_live": "24h"}}}
    changed = await client.put(RETENTION, json=own, headers=office.admin)
    assert changed.json()["assistants"]["shop"] == {
        "abandoned_after": "12h",
        "completed_kept": "10d",
        "time_to_live": "1d",
        "temporary_kept": "1h",
    }
    assert (await client.get(RETENTION, headers=office.admin)).json() == changed.json()
    assert (await client.get(RETENTION, headers=office.other)).json() == read
    assert (await client.put(RETENTION, json={}, headers=office.admin)).json() == read


@pytest.mark.parametrize(
    ("rule", "status", "code"),
    [
        ({"completed_kept": "-1d"}, 400, "invalid_period"),
        ({"completed_kept": "0d"}, 400, "invalid_period"),
        ({"completed_kept": "999999999d"}, 400, "invalid_period"),
        ({"completed_kept": 90}, 400, "invalid_period"),
        ({"assistants": {"shop": {"completed_kept": "soon"}}}, 400, "invalid_period"),
        ({"active_kept": "30d"}, 422, "invalid_request"),
        ({"user_bytes": -1}, 422, "invalid_request"),
    ],
)
async def test_rules_that_make_no_sense_are_refused_and_change_nothing(
    office: Office, rule: dict[str, Any], status: int, code: str
) -> None:
    client = office.server.client
    before = (await client.get(RETENTION, headers=office.admin)).json()
    assert_problem(await client.put(RETENTION, json=rule, headers=office.admin), status, code)
    assert (await client.get(RETENTION, headers=office.admin)).json() == before


async def test_a_preview_says_what_would_go_why_and_since_when(office: Office) -> None:
    client = office.server.client
    ids = [await office.conversation(office.user) for _ in range(3)]
    await client.patch(f"/v1/conversations/{ids[0]}", json={"status": "completed"}, headers=office.user)
    assert (await client.get(f"{RETENTION}/preview", headers=office.admin)).json()["data"] == []
    asked: dict[str, str | int] = {"now": "+120d", "limit": 2}
    seen = (await client.get(f"{RETENTION}/preview", params=asked, headers=office.admin)).json()
    assert (len(seen["data"]), seen["has_more"]) == (2, True)
    assert {(each["conversation"], each["action"], each["reason"]) for each in seen["data"]} <= {
        (ids[0], "delete", "completed_kept"),
        (ids[1], "abandon", "abandoned_after"),
        (ids[2], "abandon", "abandoned_after"),
    }
    assert seen["data"][0]["due"] < seen["now"]
    # In an address a plus sign that nobody has quoted is a space.
    unquoted = (await client.get(f"{RETENTION}/preview?now=+120d", headers=office.admin)).json()
    assert (len(unquoted["data"]), unquoted["has_more"]) == (3, False)
    assert (await client.get(f"{RETENTION}/preview?now=%2B120d", headers=office.other)).json()["data"] == []
    assert_problem(await client.get(f"{RETENTION}/preview?now=then", headers=office.admin), 400, "invalid_value")
    listed = (await client.get("/v1/conversations", headers=office.user)).json()["data"]
    assert {each["status"] for each in listed} == {"active", "completed"}


async def test_what_is_held_is_refused_to_be_deleted_in_every_dialect_until_it_is_let_go(office: Office) -> None:
    client, id = office.server.client, await office.conversation(office.user)
    made = await client.post(HOLDS, json={"conversation": id, "reason": "case 7"}, headers=office.admin)
    assert made.status_code == 201
    hold = made.json()
    assert (hold["conversation"], hold["user"], hold["reason"]) == (id, None, "case 7")
    assert (await client.get(HOLDS, headers=office.admin)).json() == {"data": [hold]}
    for path in (f"/v1/conversations/{id}", f"/api/v1/sessions/{id}"):
        assert_problem(await client.delete(path, headers=office.user), 409, "legal_hold")
    assert (await client.get(f"/v1/conversations/{id}", headers=office.user)).status_code == 200
    assert (await client.delete(f"{HOLDS}/{hold['id']}", headers=office.admin)).status_code == 204
    assert (await client.delete(f"/v1/conversations/{id}", headers=office.user)).status_code == 204


async def test_a_hold_on_nobody_is_refused(office: Office) -> None:
    client, theirs = office.server.client, await office.conversation(office.other)
    for what in ({"conversation": theirs}, {"conversation": "missing"}, {"user": "nobody"}):
        answer = await client.post(HOLDS, json={**what, "reason": "case 7"}, headers=office.admin)
        assert_problem(answer, 400, "hold_on_nobody")
    for reason in ("", "x" * 501):
        answer = await client.post(HOLDS, json={"user": "ada", "reason": reason}, headers=office.admin)
        assert_problem(answer, 422, "invalid_request")
    assert_problem(await client.delete(f"{HOLDS}/missing", headers=office.admin), 404, "hold_not_found")


async def test_nobody_but_an_administrator_of_the_tenant_gets_in(office: Office) -> None:
    client = office.server.client
    held = await client.post(HOLDS, json={"user": "ada", "reason": "case 7"}, headers=office.admin)
    assert_problem(await client.delete(f"{HOLDS}/{held.json()['id']}", headers=office.other), 404, "hold_not_found")
    assert (await client.get(HOLDS, headers=office.other)).json() == {"data": []}
    for method, path, body in (
        ("GET", RETENTION, None),
        ("PUT", RETENTION, {}),
        ("GET", f"{RETENTION}/preview", None),
        ("GET", HOLDS, None),
        ("POST", HOLDS, {"user": "ada", "reason": "case 7"}),
        ("DELETE", f"{HOLDS}/{held.json()['id']}", None),
    ):
        assert_problem(await client.request(method, path, json=body, headers=office.user), 403, "not_allowed")
        assert_problem(await client.request(method, path, json=body), 401, "not_authenticated")
