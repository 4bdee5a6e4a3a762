"""Isolation by construction: every route that takes an id is called with ids that are not the caller's.

The routes come from the application's own description, so that a new one is covered by being there. A parameter that
nobody has said how to fill fails the test: whoever adds one decides here whether it is an id.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backends import url_of
from tests.identities import ISSUER_OF_LANES
from tests.integration.serving import PATIENCE, Server, serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.store.audit import Wanted
from threadkeep.testing.samples import NO_TIME
from threadkeep.testing.stores import everything

WAYS = ("jwt", "service", "token")
"""How people sign in, beside API keys of their own."""
IDS = {"id", "session_id", "conversation"}
"""The parameters and fields that name a conversation."""
FILLED: dict[str, Any] = {
    "limit": 5,
    "since": "2026-01-01",
    "until": "2026-01-31",
    "webhook": "none",
    "letter": "none",
    "url": "https://example.org/hook",
    "events": ["turn.completed"],
    "before": 3,
    "head": 1,
    "around": 1,
    "format": "json",
    "q": "secret",
    "user": "nobody",
    "query": "hello",
    "content": "hello",
    "message": "hello",
    "tool_call_id": "call_1",
    "approved": True,
    "result": "mine",
    "tools": [{"name": "locate"}],
    "without_recall": [{"entry": 1}],
    "title": "Mine now",
    "entry": 1,
    "turn": 1,
    "metadata": {},
    "status": "active",
    "archived": True,
    "temporary": False,
    "folder": "Mine",
    "shared": False,
    "model": "demo",
    "order": "newest",
    "rating": "up",
    "pinned": True,
    "access": "write",
    "seconds": 60,
    "whole": True,
    "offset": 0,
    "text": "Mine",
    "entries": [{"type": "message", "role": "user", "content": "Mine"}],
    "state": "completed",
}
"""What is sent where a value is needed, or does harm if it is obeyed."""
LEFT_OUT = {
    *("after", "history", "store", "parent", "expected_head", "policy", "reason", "system", "assistant"),
    *("comment", "of", "error", "idempotency-key", "if-match", "accept", "prefer", "last-event-id", "key", "login"),
    *("actor", "action", "object", "from", "to"),
    *("file", "upload", "name", "share", "token", "expires"),
    *("turn-token", "anew", "reasoning", "calls", "failure", "detail", "usage", "turn_id"),
}
"""What stays out of the requests: it can name nothing of others, or would be refused before the id is looked at. Files
of others are asked for in test_files, links of others in test_shares."""


@dataclass(frozen=True)
class Call:
    """A request that names one conversation, whose id is put in by `to`."""

    method: str
    path: str
    place: str
    name: str
    query: dict[str, Any]
    body: dict[str, Any] | None

    def __str__(self) -> str:
        return f"{self.method} {self.path} ({self.place} {self.name})"

    def to(self, client: httpx.AsyncClient, id: str, headers: dict[str, str]) -> httpx.Request:
        """Return the request for one conversation."""
        path = self.path.replace(f"{{{self.name}}}", id) if self.place == "path" else self.path
        query = {**self.query, self.name: id} if self.place == "query" else self.query
        body = {**(self.body or {}), self.name: id} if self.place == "body" else self.body
        return client.build_request(self.method, path, params=query, json=body, headers=headers)


def calls_of(document: dict[str, Any]) -> Iterator[Call]:
    """Yield a call for every id in every operation of an OpenAPI document."""
    for path, operations in document["paths"].items():
        if path.startswith("/v1/admin/"):  # refused to users before anything is looked at, see test_retention
            continue
        for method, operation in operations.items():
            names = {(each["in"], each["name"]): each for each in operation.get("parameters", [])}
            fields = _fields(document, operation)
            _check_known({name for _, name in names} | fields.keys())
            query = {name: FILLED[name] for place, name in names if place == "query" and name in FILLED}
            body = {name: FILLED[name] for name in fields if name in FILLED} if fields else None
            found = [(place, name) for place, name in names if name in IDS]
            # A body's own `id` is what the sender chooses for something new: see test_chosen_ids.
            found += [("body", name) for name in fields if name in IDS - {"id"}]
            filled = path.replace("{entry}", str(FILLED["entry"])).replace("{turn}", str(FILLED["turn"]))
            for place, name in found:
                yield Call(method.upper(), filled, place, name, query, body)


def _fields(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a body, whichever way they are written down."""
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:  # a file has no fields
        return {}
    schema = content["application/json"]["schema"]
    choices = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    (chosen,) = choices
    while "$ref" in chosen:
        chosen = document["components"]["schemas"][chosen["$ref"].rpartition("/")[2]]
    found: dict[str, Any] = chosen["properties"]
    return found


def _check_known(names: set[str]) -> None:
    unknown = names - IDS - FILLED.keys() - LEFT_OUT
    assert not unknown, f"say in this test what {unknown} are: ids of conversations, or how to fill them"


@dataclass(frozen=True)
class People:
    """A server with the conversations of several people, and the header of one of them."""

    server: Server
    me: dict[str, str]
    mine: str
    others: dict[str, str]
    victims: tuple[Scope, ...]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that many people share."""
    return "memory:" if request.param == "memory" else url_of(request.param, tmp_path, request)


async def sign_in(server: Server, tenant: str, user: str, way: str) -> dict[str, str]:
    """Return the headers with which somebody signs in, in one of the ways that there are."""
    if way == "jwt":
        return ISSUER_OF_LANES.headers(tenant=tenant, sub=user)
    if way == "service":
        _, headers = await server.key(tenant, f"backend-{user}", KeyRole.SERVICE)
        return {**headers, "Threadkeep-User": user}
    _, headers = await server.key(tenant, user)
    if way == "token":
        made = await server.client.post("/v1/tokens", json={"access": "write", "seconds": 900}, headers=headers)
        return {"Authorization": f"Bearer {made.json()['token']}"}
    return headers


@asynccontextmanager
async def shared(store: str, way: str = "key") -> AsyncIterator[People]:
    """Serve a store in which other people of this and of another tenant have conversations."""
    known = ISSUER_OF_LANES.settings(tenant=None, tenant_claim="tenant")
    async with serving(store, share=True, user_requests_per_second=0, **known) as server:
        me = await sign_in(server, "acme", "ada", way)
        colleague = await sign_in(server, "acme", "bob", way)
        stranger = await sign_in(server, "globex", "ada", way)
        mine, purged = await _talk(server, me), await _talk(server, me)
        await server.client.delete(f"/v1/conversations/{purged}", headers=me)
        assert await server.conversations._store.operations.purge(NO_TIME) == 1
        deleted, theirs = await _talk(server, me), await _talk(server, colleague)
        await server.client.delete(f"/v1/conversations/{deleted}", headers=me)
        await server.client.delete(f"/v1/conversations/{theirs}", headers=colleague)
        others = {
            "a foreign tenant's": await _talk(server, stranger),
            "a foreign user's": await _talk(server, colleague),
            "a foreign user's, deleted": theirs,
            "deleted": deleted,
            "deleted and purged": purged,
            "random": new_id(),
        }
        victims = (Scope(tenant="globex", user="ada"), Scope(tenant="acme", user="bob"))
        yield People(server, me, mine, others, victims)


async def _talk(server: Server, who: dict[str, str]) -> str:
    created = await server.client.post("/v1/conversations", json={"title": "Private"}, headers=who)
    id = str(created.json()["id"])
    sent = await server.client.post(f"/v1/conversations/{id}/messages", json={"content": "a secret"}, headers=who)
    assert sent.json()["turn"]["state"] == "completed"
    return id


async def status_and_problem(
    people: People, call: Call, id: str, **headers: str
) -> tuple[int, str | None, dict[str, Any]]:
    """Return how a call is answered; a stream is left as soon as it begins."""
    client = people.server.client
    async with asyncio.timeout(PATIENCE):
        answer = await client.send(call.to(client, id, people.me | headers), stream=True)
        try:
            kind = answer.headers.get("content-type")
            problem = {}
            if kind == "application/problem+json":
                await answer.aread()
                problem = answer.json()
                assert problem.pop("request_id") == answer.headers["x-request-id"]
            return answer.status_code, kind, problem
        finally:
            await answer.aclose()


MISSING = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "code": "conversation_not_found",
    "detail": "There is no such conversation.",
}


@pytest.mark.parametrize(
    ("store", "way"),
    [("memory", "key"), ("sqlite", "key"), ("postgresql", "key"), *(("memory", way) for way in WAYS)],
    indirect=["store"],
)
async def test_a_conversation_that_is_not_ones_own_is_the_same_404_everywhere_and_stays_as_it_is(
    store: str, way: str
) -> None:
    async with shared(store, way) as people:
        calls = list(calls_of(people.server.app.openapi()))
        before = await everything(people.server.conversations._store, *people.victims)
        for call in calls:
            for kind, id in people.others.items():
                if kind == "deleted" and call.path.endswith("/restore"):
                    continue  # this is what restoring is for
                for headers in ({}, {"Accept": "text/event-stream", "Idempotency-Key": "mine"}):
                    answer = await status_and_problem(people, call, id, **headers)
                    assert answer == (404, "application/problem+json", MISSING), f"{call} with {kind} id"
        assert await everything(people.server.conversations._store, *people.victims) == before


@pytest.mark.parametrize("way", ["key", *WAYS, "only"])
async def test_the_same_requests_find_ones_own_conversation(way: str) -> None:
    """Those of a token for one conversation, too, unless it may not do that."""
    async with shared("memory:", "key" if way == "only" else way) as people:
        for call in calls_of(people.server.app.openapi()):
            mine = await _talk(people.server, people.me)
            asking = people
            if way == "only":
                if not is_for_one(call.method, call.path):
                    continue
                asking = replace(people, me=await token(people, conversation=mine, access="write"))
            if call.path.endswith("/restore"):
                await people.server.client.delete(f"/v1/conversations/{mine}", headers=people.me)
            status, _, problem = await status_and_problem(asking, call, mine)
            assert status < 300 or problem["code"] in ("turn_not_found", "share_not_found"), (
                f"{call}: {status} {problem}"
            )


async def token(people: People, **body: Any) -> dict[str, str]:
    """Return the header of a token for the browser of somebody."""
    made = await people.server.client.post("/v1/tokens", json=body, headers=people.me)
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['token']}"}


def is_for_one(method: str, path: str) -> bool:
    """Whether a token for one conversation is good for a route."""
    return path.startswith("/v1/conversations/{id}") and "/shares" not in path and method != "DELETE"


OPEN = ("/health", "/v1/login", "/v1/logout", "/s/")
"""What needs no proof of who is asking."""


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of all that is served to those who sign in."""
    for path, operations in document["paths"].items():
        if path == "/v1/logins" or not path.startswith(OPEN):
            yield from ((method.upper(), path) for method in operations)


async def test_every_route_is_closed_to_strangers_and_to_those_whose_token_is_not_for_it() -> None:
    async with shared("memory:") as people:
        mine, theirs = people.mine, people.others["a foreign user's"]
        client, operations = people.server.client, list(operations_of(people.server.app.openapi()))
        reads, writes = await token(people), await token(people, access="write")
        reads_one = await token(people, conversation=mine)
        writes_one = await token(people, conversation=mine, access="write")

        async def refusal(method: str, path: str, headers: dict[str, str], id: str = theirs) -> tuple[int, str]:
            filled = path.replace("{id}", id).replace("{entry}", "1").replace("{user}", "bob")
            answer = await client.request(method, filled.replace("{", "").replace("}", ""), headers=headers)
            return answer.status_code, answer.json()["code"]

        assert len(operations) > 60
        for method, path in operations:
            what = f"{method} {path}"
            changes = method != "GET" and path != "/v1/search"
            assert await refusal(method, path, {}) == (401, "not_authenticated"), what
            assert await refusal(method, path, {"Authorization": "Bearer tt_x.y.z"}) == (401, "not_authenticated"), what
            if path.startswith("/v1/admin/") or path == "/v1/audit":
                assert await refusal(method, path, writes) == (403, "not_allowed"), what
            if changes:
                assert await refusal(method, path, reads) == (403, "not_allowed"), what
                assert await refusal(method, path, reads_one, mine) == (403, "not_allowed"), what
            if not is_for_one(method, path):
                if path != "/v1/me":
                    assert await refusal(method, path, writes_one, mine) == (403, "not_allowed"), what
            elif "{entry}" not in path:
                assert await refusal(method, path, writes_one) == (404, "conversation_not_found"), what


FOR_ADMINISTRATORS = ("/v1/admin/", "/v1/audit", "/v1/usage/tenant", "/v1/usage/users")
"""What a user is refused. Beyond that /metrics are for the operator, and others may be erased by administrators."""


async def test_every_route_is_for_its_roles_and_whoever_administers_another_tenant_finds_nothing() -> None:
    async with shared("memory:") as people:
        client, theirs = people.server.client, people.others["a foreign user's"]
        key, bob = await people.server.key("acme", "bob")
        _, root = await people.server.key("acme", "root", KeyRole.ADMIN)
        _, other = await people.server.key("globex", "root", KeyRole.ADMIN)
        _, service = await people.server.key("acme", "backend", KeyRole.SERVICE)
        hold = await client.post("/v1/admin/holds", json={"conversation": theirs, "reason": "kept"}, headers=root)
        webhook = await client.post("/v1/admin/webhooks", json={"url": "https://example.org/hook"}, headers=root)
        made = {"hold": hold.json()["id"], "webhook": webhook.json()["id"], "key": key.id, "user": "bob", "id": theirs}

        async def told(method: str, path: str, headers: dict[str, str], ids: dict[str, str]) -> tuple[int, str | None]:
            for name, id in ids.items():
                path = path.replace(f"{{{name}}}", id)
            async with client.stream(method, path.replace("{", "").replace("}", ""), headers=headers) as answer:
                is_problem = answer.headers.get("content-type") == "application/problem+json"
                return answer.status_code, json.loads(await answer.aread())["code"] if is_problem else None

        async def stored() -> list[Any]:
            listed = (await client.get("/v1/admin/conversations", headers=root)).json()["data"]
            kinds = ("keys", "holds", "webhooks", "retention")
            kept = [(await client.get(f"/v1/admin/{kind}", headers=root)).json() for kind in kinds]
            return [*kept, [row for row in listed if row["user"] == "bob"]]

        before, none = await stored(), {name: new_id() for name in made}
        for method, path in operations_of(people.server.app.openapi()):
            what = f"{method} {path}"
            assert await told(method, path, service, made) == (403, "not_allowed"), what
            is_refused = path.startswith(FOR_ADMINISTRATORS) or path in ("/metrics", "/v1/users/{user}")
            if is_refused:
                assert await told(method, path, people.me, made) == (403, "not_allowed"), what
            else:
                assert await told(method, path, people.me, made) != (403, "not_allowed"), what
            found = await told(method, path, other, made)
            assert found == await told(method, path, other, none), what
        assert await stored() == before
        assert (await client.get("/v1/me", headers=bob)).status_code == 200


async def test_what_is_not_ones_own_is_in_no_list_no_search_and_no_count(store: str) -> None:
    async with shared(store) as people:
        _, admin = await people.server.key("acme", "root", KeyRole.ADMIN)
        client = people.server.client
        for path in ("/v1/conversations", "/api/v1/sessions"):
            listed = (await client.get(path, headers=people.me)).json()
            rows = listed["data"] if isinstance(listed, dict) else listed
            assert [row.get("id") or row["session_id"] for row in rows] == [people.mine]
        hits = (await client.get("/v1/search", params={"q": "secret"}, headers=people.me)).json()["data"]
        assert {hit["conversation"] for hit in hits} == {people.mine}
        owned = (await client.get("/v1/admin/conversations", headers=admin)).json()["data"]
        assert {(row["id"], row["user"]) for row in owned} == {
            (people.mine, "ada"),
            (people.others["a foreign user's"], "bob"),
        }
        await client.patch(f"/v1/conversations/{people.mine}", json={"archived": True}, headers=people.me)
        asked = {"archived": "true", "status": "active"}
        archived = (await client.get("/v1/admin/conversations", params=asked, headers=admin)).json()["data"]
        assert [row["id"] for row in archived] == [people.mine]
        usage = (await client.get("/v1/admin/usage", headers=admin)).json()
        assert {row["user"]: row["conversations"] for row in usage["users"]} == {"ada": 1, "bob": 1}
        assert usage["tenant"]["conversations"] == 2


async def test_an_administrator_reads_nobody_elses_conversation() -> None:
    async with shared("memory:") as people:
        _, admin = await people.server.key("acme", "root", KeyRole.ADMIN)
        boss = People(people.server, admin, people.mine, people.others, people.victims)
        for call in calls_of(people.server.app.openapi()):
            for id in (people.mine, *people.others.values()):
                assert await status_and_problem(boss, call, id) == (404, "application/problem+json", MISSING), str(call)


async def test_an_administrator_reads_a_conversation_of_the_tenant_on_record_and_nobody_else_does(store: str) -> None:
    async with shared(store) as people:
        client, theirs = people.server.client, people.others["a foreign user's"]
        _, admin = await people.server.key("acme", "root", KeyRole.ADMIN)
        _, owner = await people.server.key("acme", "bob")
        path = f"/v1/admin/conversations/{theirs}"
        before = len(await people.server.conversations.admin.audit.read("acme", Wanted(actions=("conversation.read",))))
        read = await client.get(path, params={"limit": 1}, headers=admin)
        own = await client.get(f"/v1/conversations/{theirs}", params={"limit": 1}, headers=owner)
        assert (read.status_code, read.json()) == (200, own.json())
        acts = await people.server.conversations.admin.audit.read("acme", Wanted(actions=("conversation.read",)))
        assert [each.act.object for each in acts[before:]] == [f"conversation:{theirs}"]
        assert acts[-1].act.actor.startswith("user:")
        for kind, id in people.others.items():
            answer = await client.get(f"/v1/admin/conversations/{id}", headers=admin)
            assert answer.status_code == (200 if kind == "a foreign user's" else 404), kind
        refused = await client.get(path, headers=people.me)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        for method in ("DELETE", "PATCH", "POST", "PUT"):
            assert (await client.request(method, path, headers=admin)).status_code == 405


async def test_a_cursor_of_somebody_else_opens_nothing() -> None:
    async with shared("memory:") as people:
        client, theirs = people.server.client, people.others["a foreign user's"]
        cursor = (await people.server.conversations._store.get(people.victims[1], theirs)).entries
        assert cursor
        for id, value in ((people.mine, theirs), (people.mine, "AAAA"), (people.mine, str(2**52))):
            answer = await client.get(f"/v1/conversations/{id}/events", params={"after": value}, headers=people.me)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


async def test_every_route_is_described_or_known_to_hold_no_ids() -> None:
    async with serving(auth="keys") as server:
        described = server.app.openapi()["paths"].keys()
        assert set(_paths(server.app.routes)) - described == {"/", "/c/{id}", "/sw.js", "/openapi.json", "/static"}


def _paths(routes: Sequence[object]) -> Iterator[str]:
    """Yield the path of every route, those of the routers within included."""
    for route in routes:
        within = getattr(route, "original_router", None)
        yield from [str(vars(route)["path"])] if within is None else _paths(within.routes)


def test_a_parameter_that_nobody_knows_fails() -> None:
    new = {"parameters": [{"in": "query", "name": "thread"}]}
    with pytest.raises(AssertionError, match="thread"):
        list(calls_of({"paths": {"/v1/new": {"get": new}}}))
