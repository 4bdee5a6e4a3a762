"""Signing in for the page: a cookie that scripts cannot read and other sites cannot use, and its end."""

import asyncio
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from tests.integration.serving import Server, assert_problem, serving, told
from threadkeep.conversation.api_key import KeyRole, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.settings import Settings

FOREIGN = ["null", "", "http://evil.example", "http://127.0.0.1.evil.example", "http://[", "http://127.0.0.1:1"]
UNSAFE = [
    *(("POST", "/v1/conversations"), ("PATCH", "/v1/conversations/x"), ("DELETE", "/v1/conversations/x")),
    *(("PUT", "/v1/conversations/x/head"), ("POST", "/v1/conversations/x/messages"), ("POST", "/chat")),
]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(auth="keys") as server:
        yield server


async def signed_in(server: Server, origin: str | None = None) -> httpx.Response:
    _, ada = await server.key("acme", "ada")
    body = {"key": ada["Authorization"].removeprefix("Bearer ")}
    return await server.client.post("/v1/login", json=body, headers={"Origin": origin or server.url})


def cookie_in(answer: httpx.Response) -> SimpleCookie:
    return SimpleCookie(answer.headers["set-cookie"])


async def test_a_key_is_exchanged_for_a_login_that_scripts_and_other_sites_cannot_use(server: Server) -> None:
    answer = await signed_in(server)
    ((name, cookie),) = cookie_in(answer).items()
    assert answer.status_code == 204
    assert name == f"threadkeep-{server.url.rpartition(':')[2]}"
    assert cookie.value.startswith("tl_")
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert int(cookie["max-age"]) == Settings().login_max_seconds
    assert not cookie["domain"]
    assert (await server.client.get("/v1/me")).json()["user"] == "ada"


async def test_a_page_that_came_over_tls_gets_a_cookie_that_nobody_else_can_set(server: Server) -> None:
    # The proxy ends TLS: the request itself comes without it.
    ((name, cookie),) = cookie_in(await signed_in(server, server.url.replace("http:", "https:"))).items()
    assert name.startswith("__Host-threadkeep")
    assert cookie["secure"]
    ((_, plain),) = cookie_in(await signed_in(server)).items()
    assert not plain["secure"]
    # What somebody else has set beside it does not count.
    both = {"Cookie": f"{name}=tl_no; {name.removeprefix('__Host-')}={plain.value}"}
    server.client.cookies.clear()
    assert (await server.client.get("/v1/me", headers=both)).status_code == 401


async def test_our_own_page_may_change_things_with_the_cookie(server: Server) -> None:
    await signed_in(server)
    created = await server.client.post("/v1/conversations", headers={"Origin": server.url})
    assert created.status_code == 201
    assert [row["id"] for row in (await server.client.get("/v1/conversations")).json()["data"]] == [
        created.json()["id"]
    ]


async def test_nobody_else_may_change_things_with_it(server: Server) -> None:
    for origin in FOREIGN:
        await signed_in(server)
        for method, path in UNSAFE:
            answer = await server.client.request(method, path, headers={"Origin": origin}, json={})
            assert_problem(answer, 403, "foreign_origin")
        assert (await server.client.get("/v1/conversations")).json()["data"] == []


async def test_a_cookie_without_a_word_of_where_it_comes_from_changes_nothing(server: Server) -> None:
    await signed_in(server)
    asking = ("GET", "/v1/chat/query/stream?query=hello")
    for method, path in (*UNSAFE, asking):
        answer = await server.client.request(method, path, json=None if method == "GET" else {})
        assert_problem(answer, 401, "not_authenticated")
        assert "own page" in answer.json()["detail"]
    own = await server.client.request(*asking, headers={"Sec-Fetch-Site": "same-origin"})
    assert own.status_code == 200


async def test_two_origins_are_as_good_as_a_foreign_one(server: Server) -> None:
    await signed_in(server)
    twice = [("Origin", server.url), ("Origin", "http://evil.example")]
    assert_problem(await server.client.post("/v1/conversations", headers=twice), 403, "foreign_origin")


async def test_a_program_with_a_key_in_its_header_needs_no_origin(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    assert (await server.client.post("/v1/conversations", headers=ada)).status_code == 201


@pytest.mark.parametrize(
    "key", [pytest.param(new_secret(), id="unknown"), "tk_", "x", "tk_\x00", "tk_\u2028", "tk_" + "é" * 100]
)
async def test_a_key_that_is_not_known_gets_no_cookie(server: Server, key: str) -> None:
    answer = await server.client.post("/v1/login", json={"key": key})
    assert_problem(answer, 401, "not_authenticated")
    assert "set-cookie" not in answer.headers


async def test_a_body_that_holds_no_key_is_refused(server: Server) -> None:
    for body in ({}, {"key": ""}, {"key": "tk_" + "x" * 1000}, {"key": "x", "more": 1}):
        assert_problem(await server.client.post("/v1/login", json=body), 422, "invalid_request")


async def test_a_page_of_another_site_signs_nobody_in_or_out(server: Server) -> None:
    for origin in FOREIGN:
        for path in ("/v1/login", "/v1/logout"):
            _, ada = await server.key("acme", "ada")
            body = {"key": ada["Authorization"].removeprefix("Bearer ")}
            answer = await server.client.post(path, json=body, headers={"Origin": origin})
            assert_problem(answer, 403, "foreign_origin")
            assert "set-cookie" not in answer.headers


async def test_signing_out_takes_the_cookie_away_and_ends_the_login_on_the_server(server: Server) -> None:
    ((name, kept),) = cookie_in(await signed_in(server)).items()
    stream = asyncio.create_task(_last_words(server))
    await server.until_streams(1)
    answer = await server.client.post("/v1/logout", headers={"Origin": server.url})
    cookie = cookie_in(answer)[name]
    assert (answer.status_code, cookie.value, cookie["max-age"]) == (204, "", "0")
    assert (cookie["httponly"], cookie["samesite"]) == (True, "strict")
    assert answer.headers["clear-site-data"] == '"cache"'
    copied = {"Cookie": f"{name}={kept.value}"}
    assert_problem(await server.client.get("/v1/me", headers=copied), 401, "not_authenticated")
    assert await server.conversations._store.keyring.logins() == ()
    assert "not_authenticated" in await stream


async def _last_words(server: Server) -> str:
    last = ""
    async for event in told(server.client, "/v1/events"):
        last = event.data
    return last


async def test_signing_in_again_ends_the_login_before(server: Server) -> None:
    await signed_in(server)
    await signed_in(server)
    assert len(await server.conversations._store.keyring.logins()) == 1


async def test_people_see_where_they_are_signed_in_and_sign_out_elsewhere(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    _, bob = await server.key("acme", "bob")
    _, eve = await server.key("other", "eve", KeyRole.ADMIN)
    _, root = await server.key("acme", "root", KeyRole.ADMIN)
    for who, device in ((ada, "phone"), (ada, "\u2028é"), (bob, "desk")):
        body = {"key": who["Authorization"].removeprefix("Bearer ")}
        await server.client.post("/v1/login", json=body, headers={b"User-Agent": device.encode()})
        server.client.cookies.clear()

    async def listed(who: dict[str, str], path: str = "/v1/logins") -> list[dict[str, Any]]:
        data: list[dict[str, Any]] = (await server.client.get(path, headers=who)).json()["data"]
        return data

    own = await listed(ada)
    assert [(each["user"], each["device"]) for each in own] == [("ada", "phone"), ("ada", "?????")]
    assert [each["user"] for each in await listed(root, "/v1/admin/logins")] == ["ada", "ada", "bob"]
    assert await listed(eve, "/v1/admin/logins") == []
    assert_problem(await server.client.get("/v1/admin/logins", headers=ada), 403, "not_allowed")
    for stranger in (bob, eve):
        answer = await server.client.delete(f"/v1/logins/{own[0]['id']}", headers=stranger)
        assert_problem(answer, 404, "key_not_found")
    for who, login in ((ada, own[0]), (root, own[1])):
        assert (await server.client.delete(f"/v1/logins/{login['id']}", headers=who)).status_code == 204
    assert [each["user"] for each in await listed(root, "/v1/admin/logins")] == ["bob"]


async def test_a_cookie_ends_with_its_key(server: Server) -> None:
    await signed_in(server)
    (key,) = await server.conversations._store.keyring.all("acme")
    await server.conversations._store.keyring.revoke(key.id, utc_now())
    while (answer := await server.client.get("/v1/me")).status_code == 200:
        pass
    assert_problem(answer, 401, "not_authenticated")


async def test_without_authentication_there_is_nothing_to_sign_in_to() -> None:
    async with serving() as server:
        assert (await server.client.post("/v1/login", json={"key": "tk_"})).status_code == 404
