"""Letting in by key: which keys open the door, what a revoked one still does, and what a role allows."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.requests import HTTPConnection

from tests.integration.serving import PATIENCE, Server, assert_problem, serving, told, told_until
from threadkeep.cli.main import main
from threadkeep.conversation.api_key import ApiKey, KeyRole, Login, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.errors import NotAuthenticated, RateLimited, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.server.identity.api_keys import AT_ONCE, MOST_ADDRESSES, PER_SECOND, ApiKeyGuard, WrongKeyLimiter
from threadkeep.server.identity.refusals import Refusals
from threadkeep.settings import Settings

SECOND = 1.0


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(auth="keys") as server:
        yield server


async def test_a_key_says_who_is_asking(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    _, root = await server.key("acme", "root", KeyRole.ADMIN)
    known = {"tenant": "acme", "user": "ada", "role": "user", "signed_in": True}
    assert (await server.client.get("/v1/me", headers=ada)).json().items() >= known.items()
    assert (await server.client.get("/v1/me", headers=root)).json()["role"] == "admin"


async def test_the_name_of_the_scheme_may_be_written_in_any_case(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    token = ada["Authorization"].removeprefix("Bearer ")
    assert (await server.client.get("/v1/me", headers={"Authorization": f"bEARER  {token}"})).status_code == 200


WRONG = {
    "none": None,
    "empty": "",
    "no key": "Bearer",
    "an unknown key": f"Bearer {new_secret()}",
    "the beginning of a key": "Bearer tk_",
    "another kind of token": "Bearer eyJhbGciOiJub25lIn0.e30.",
    "another scheme": "Basic YWRhOnRrXzEyMw==",
    "a huge key": f"Bearer tk_{'x' * 20_000}",
    "bytes that are no text": b"Bearer tk_\xff\xfe\x80",
    "two words": "Bearer tk_a tk_b",
}


async def test_anything_else_is_401_and_says_what_is_wanted(server: Server) -> None:
    for header in WRONG.values():
        headers = {} if header is None else {"Authorization": header}
        for method, path in (
            ("GET", "/v1/me"),
            ("POST", "/v1/conversations"),
            ("GET", "/v1/events"),
            ("GET", "/metrics"),
        ):
            answer = await server.client.request(method, path, headers=headers)  # type: ignore[arg-type]
            assert_problem(answer, 401, "not_authenticated")
            assert answer.headers["www-authenticate"] == 'Bearer realm="threadkeep"'
            assert "set-cookie" not in answer.headers


async def test_a_header_that_is_wrong_is_not_made_good_by_a_cookie(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    await server.client.post("/v1/login", json={"key": ada["Authorization"].removeprefix("Bearer ")})
    assert (await server.client.get("/v1/me")).status_code == 200
    assert (await server.client.get("/v1/me", headers={"Authorization": "Bearer tk_no"})).status_code == 401


async def test_neither_is_a_key_a_cookie_nor_a_login_a_key(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    secret = ada["Authorization"].removeprefix("Bearer ")
    await server.client.post("/v1/login", json={"key": secret})
    ((name, login),) = server.client.cookies.items()
    server.client.cookies.clear()
    assert (await server.client.get("/v1/me", headers={"Cookie": f"{name}={secret}"})).status_code == 401
    assert (await server.client.get("/v1/me", headers={"Authorization": f"Bearer {login}"})).status_code == 401
    assert (await server.client.get("/v1/me", headers={"Cookie": f"{name}={login}"})).status_code == 200


async def test_a_key_that_has_expired_opens_nothing_and_ends_its_logins() -> None:
    now = utc_now()
    store = await open_store("memory:", clock=lambda: now)
    guard = ApiKeyGuard(store.keyring, Settings(), Refusals(store.audit, "local"), clock=lambda: now)
    secret = new_secret()
    key = ApiKey(
        id="one",
        digest=digest_of(secret),
        hint="tk_",
        scope=Scope(tenant="acme", user="ada"),
        created_at=now,
        expires_at=now + timedelta(minutes=1),
    )
    await store.keyring.add(key)
    shown = asking(Authorization=f"Bearer {secret}")
    assert (await guard.identify(shown)).scope == key.scope
    login, _ = await guard.log_in(asking(), secret)
    browser = asking(Cookie=f"threadkeep={login}")
    identity = await guard.identify(browser)
    now += timedelta(minutes=1)
    for each in (shown, browser):
        with pytest.raises(NotAuthenticated):
            await guard.identify(each)
    assert not await guard.is_valid(identity)


def asking(**headers: str) -> HTTPConnection:
    """A request as a guard sees it."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection(
        {"type": "http", "method": "GET", "scheme": "http", "headers": raw, "client": ("192.0.2.1", 1)}
    )


async def test_a_login_goes_on_while_it_is_used_and_ends_in_any_case() -> None:
    now = utc_now()
    store = await open_store("memory:", clock=lambda: now)
    settings = Settings(login_idle_seconds=60, login_max_seconds=200)
    guard = ApiKeyGuard(store.keyring, settings, Refusals(store.audit, "local"), clock=lambda: now)
    secret = new_secret()
    scope = Scope(tenant="acme", user="ada")
    await store.keyring.add(ApiKey(id="one", digest=digest_of(secret), hint="tk_", scope=scope, created_at=now))
    login, _ = await guard.log_in(asking(), secret)
    browser = asking(Cookie=f"threadkeep={login}")
    for _ in range(4):
        now += timedelta(seconds=45)
        assert (await guard.identify(browser)).scope == scope
    now += timedelta(seconds=45)
    with pytest.raises(NotAuthenticated):
        await guard.identify(browser)

    login, _ = await guard.log_in(asking(), secret)
    now += timedelta(seconds=61)
    with pytest.raises(NotAuthenticated):
        await guard.identify(asking(Cookie=f"threadkeep={login}"))


async def test_a_login_that_ends_while_another_request_looks_it_up_is_over_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = await open_store("memory:")
    guard = ApiKeyGuard(store.keyring, Settings(), Refusals(store.audit, "local"))
    secret = new_secret()
    key = ApiKey(
        id="one", digest=digest_of(secret), hint="tk_", scope=Scope(tenant="acme", user="ada"), created_at=utc_now()
    )
    await store.keyring.add(key)
    login, begun = await guard.log_in(asking(), secret)
    browser = asking(Cookie=f"threadkeep={login}")
    found, goes_on = asyncio.Event(), asyncio.Event()
    find = store.keyring.find_login

    async def slow_find(digest: bytes) -> Login | None:
        login = await find(digest)
        found.set()
        await goes_on.wait()
        return login

    monkeypatch.setattr(store.keyring, "find_login", slow_find)
    other_tab = asyncio.create_task(guard.identify(browser))
    await found.wait()
    await guard.end(begun)
    goes_on.set()
    await other_tab
    with pytest.raises(NotAuthenticated):
        await guard.identify(browser)


async def test_an_address_that_shows_too_many_wrong_keys_is_held_up_but_not_who_is_known(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    _, bob = await server.key("acme", "bob")
    assert (await server.client.get("/v1/me", headers=ada)).status_code == 200
    wrong = {"Authorization": f"Bearer {new_secret()}"}
    async with asyncio.timeout(PATIENCE):
        while (answer := await server.client.get("/v1/me", headers=wrong)).status_code == 401:
            pass
    assert_problem(answer, 429, "rate_limited")
    assert int(answer.headers["retry-after"]) >= 1
    assert (await server.client.get("/v1/me", headers=ada)).status_code == 200
    async with asyncio.timeout(PATIENCE):
        while (await server.client.get("/v1/me", headers=bob)).status_code == 429:
            pass


async def test_what_holds_no_content_needs_no_key(server: Server) -> None:
    for path in ("/health/live", "/health/ready", "/"):
        assert (await server.client.get(path)).status_code == 200


async def test_what_the_server_can_do_is_described_to_its_users_only(server: Server) -> None:
    assert_problem(await server.client.get("/openapi.json"), 401, "not_authenticated")
    _, ada = await server.key("acme", "ada")
    described = await server.client.get("/openapi.json", headers=ada)
    assert "/v1/conversations" in described.json()["paths"]


async def test_a_revoked_key_stops_working_within_a_second_and_its_streams_end(server: Server) -> None:
    key, ada = await server.key("acme", "ada")
    _, bob = await server.key("acme", "bob")
    path = (await server.client.post("/v1/conversations", headers=ada)).headers["location"]
    streams = [_ended(server.client, each, ada) for each in (f"{path}/events", "/v1/events")]
    ends = [asyncio.create_task(stream) for stream in streams]
    await server.until_streams(2)
    await server.conversations._store.keyring.revoke(key.id, utc_now())
    revoked = time.monotonic()
    async with asyncio.timeout(PATIENCE):
        while (answer := await server.client.get("/v1/me", headers=ada)).status_code == 200:
            pass
    refused = time.monotonic()
    assert_problem(answer, 401, "not_authenticated")
    for last, at in await asyncio.gather(*ends):
        assert last == '{"code":"not_authenticated","detail":"The key or the login has ended.","type":"error"}'
        assert at - revoked < SECOND
    assert refused - revoked < SECOND
    assert (await server.client.get("/v1/me", headers=bob)).status_code == 200


async def _ended(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> tuple[str, float]:
    """Read a stream to its end; return the last thing that it said, and when it ended."""
    last = ""
    async with asyncio.timeout(PATIENCE):
        async for event in told(client, path, **headers):
            last = event.data
    return last, time.monotonic()


async def test_a_stream_of_another_key_goes_on(server: Server) -> None:
    lost, ada = await server.key("acme", "ada")
    _, second = await server.key("acme", "ada")
    path = (await server.client.post("/v1/conversations", headers=ada)).headers["location"]
    ends = asyncio.create_task(_ended(server.client, f"{path}/events", ada))
    stays = asyncio.create_task(told_until(server.client, f"{path}/events", "conversation.updated", **second))
    await server.until_streams(2)
    await server.conversations._store.keyring.revoke(lost.id, utc_now())
    await ends
    await server.client.patch(path, json={"title": "Still here"}, headers=second)
    assert [event.event for event in await stays if event.event != "presence"] == ["conversation.updated"]


@pytest.mark.server_may_fail
async def test_streams_of_a_revoked_key_end_though_the_store_failed_meanwhile(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, ada = await server.key("acme", "ada")
    ring, failures = server.conversations._store.keyring, [StoreUnavailable()] * 2
    find, has_failed = ring.find, asyncio.Event()

    async def find_or_fail(digest: bytes) -> ApiKey | None:
        if failures:
            raise failures.pop()
        has_failed.set()
        return await find(digest)

    end = asyncio.create_task(_ended(server.client, "/v1/events", ada))
    await server.until_streams(1)
    monkeypatch.setattr(ring, "find", find_or_fail)
    async with asyncio.timeout(PATIENCE):
        await has_failed.wait()
        assert not end.done()
        await ring.revoke(key.id, utc_now())
        assert "not_authenticated" in (await end)[0]


async def test_metrics_count_everybody_and_are_for_the_operator_alone() -> None:
    for operator, statuses in ((None, [403, 403, 403]), ("ops", [403, 403, 200])):
        async with serving(auth="keys", operator_tenant=operator) as server:
            _, ada = await server.key("acme", "ada", KeyRole.ADMIN)
            _, user = await server.key("ops", "somebody")
            _, root = await server.key("ops", "root", KeyRole.ADMIN)
            found = [(await server.client.get("/metrics", headers=who)).status_code for who in (ada, user, root)]
            assert found == statuses


async def test_a_server_that_asks_for_keys_answers_under_any_name_but_trusts_no_page(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    named = {"Host": "chat.example.org"}
    assert (await server.client.get("/v1/me", headers=ada | named)).status_code == 200
    assert_problem(await server.client.get("/v1/me", headers=named), 401, "not_authenticated")


def test_a_server_that_others_can_reach_says_how_to_ask_for_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "0.0.0.0", "--store", "memory:"]) == 2  # noqa: S104
    complaint = capsys.readouterr().err
    assert "threadkeep keys create --tenant T --user U" in complaint
    assert "--auth keys" in complaint


def scope(address: str | None) -> dict[str, object]:
    return {"client": None if address is None else (address, 1)}


def is_held_up(limiter: WrongKeyLimiter, address: str | None) -> bool:
    try:
        limiter.check(scope(address))
    except RateLimited:
        return True
    return False


@pytest.mark.parametrize(
    ("shown", "same", "other"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"),
        (None, None, "192.0.2.1"),
        ("a socket", "a socket", "another"),
    ],
)
def test_many_wrong_keys_hold_up_their_address_and_no_other(
    shown: str | None, same: str | None, other: str | None
) -> None:
    limiter = WrongKeyLimiter(lambda: 0.0)
    for _ in range(AT_ONCE):
        assert not is_held_up(limiter, same)
        limiter.note(scope(shown))
    assert is_held_up(limiter, same)
    assert not is_held_up(limiter, other)


def test_it_lets_go_with_time() -> None:
    now = 0.0
    limiter = WrongKeyLimiter(lambda: now)
    for _ in range(AT_ONCE):
        limiter.note(scope("192.0.2.1"))
    with pytest.raises(RateLimited) as held:
        limiter.check(scope("192.0.2.1"))
    now += held.value.retry_after
    assert not is_held_up(limiter, "192.0.2.1")
    now += AT_ONCE / PER_SECOND
    for _ in range(AT_ONCE - 1):
        limiter.note(scope("192.0.2.1"))
    assert not is_held_up(limiter, "192.0.2.1")


def test_its_table_does_not_grow_beyond_its_bound() -> None:
    limiter = WrongKeyLimiter(lambda: 0.0)
    for number in range(MOST_ADDRESSES + 50):
        limiter.note(scope(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))
    assert len(limiter._wrong) == MOST_ADDRESSES
