"""The application without a socket: page, guards, and what an error looks like."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator
from unittest.mock import AsyncMock

import httpx
import pytest
from fastapi import FastAPI

from threadkeep.conversations import Conversations
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app, tell_unheard_error
from threadkeep.settings import Settings
from threadkeep.store.base import Store

URL = "http://127.0.0.1:8000"
FOREIGN_HOSTS = [
    *("", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "10.0.0.1"),
    *("localhost/x", "localhost:8000:1", "::1", "[::1", "[localhost]", "localhost\t"),
]


@pytest.fixture
async def conversations() -> AsyncIterator[Conversations]:
    conversations = await open_conversations("memory:", model="demo", pace=0)
    yield conversations
    await conversations.close()


@pytest.fixture
def store(conversations: Conversations) -> Store:
    return conversations._store


@pytest.fixture
def app(conversations: Conversations) -> FastAPI:
    return create_app(conversations, Settings(store="memory:"))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        yield client


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["detail"]


async def test_the_page_and_all_it_links_to_are_served(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    linked = re.findall(r'(?:href|src)="(/[^"]+)"', page.text)
    assert {"/static/whole.css", "/static/whole.js", "/static/icon.svg"} <= set(linked)
    for path in linked:
        assert (await client.get(path)).status_code == 200, path


async def test_the_page_holds_nothing_that_its_policy_forbids(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert "'unsafe" not in page.headers["content-security-policy"]
    assert "<style" not in page.text
    assert "<script>" not in page.text
    assert "://" not in page.text


async def test_the_names_of_this_machine_are_answered(client: httpx.AsyncClient) -> None:
    for host in ("127.0.0.1", "127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]", "[::1]:8000"):
        assert (await client.get("/health/live", headers={"Host": host})).status_code == 200


async def test_any_other_host_is_refused(client: httpx.AsyncClient) -> None:
    for host in FOREIGN_HOSTS:
        assert_problem(await client.get("/", headers={"Host": host}), 400, "foreign_host")


async def test_two_hosts_or_none_are_refused(client: httpx.AsyncClient) -> None:
    twice = await client.get("/", headers=[("Host", "localhost"), ("Host", "evil.example")])
    assert_problem(twice, 400, "foreign_host")
    without = client.build_request("GET", "/")
    del without.headers["Host"]
    assert_problem(await client.send(without), 400, "foreign_host")


async def test_a_page_of_another_site_is_refused(client: httpx.AsyncClient) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999"):
        assert_problem(await client.get("/health/live", headers={"Origin": origin}), 403, "foreign_origin")


async def test_our_own_page_is_answered(client: httpx.AsyncClient) -> None:
    assert (await client.get("/health/live", headers={"Origin": URL})).status_code == 200


async def test_errors_of_the_framework_are_problems_too(client: httpx.AsyncClient) -> None:
    assert_problem(await client.get("/nowhere"), 404, "not_found")
    assert_problem(await client.get("/static/%2e%2e/settings.py"), 404, "not_found")
    wrong_verb = await client.post("/health/live")
    assert_problem(wrong_verb, 405, "method_not_allowed")
    assert wrong_verb.headers["allow"] == "GET, HEAD"


@pytest.mark.server_may_fail
async def test_an_unforeseen_error_tells_nothing_of_its_message(app: FastAPI, client: httpx.AsyncClient) -> None:
    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("what somebody said")

    answer = await client.get("/broken")
    assert_problem(answer, 500, "internal_error")
    assert "somebody" not in answer.text


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/health/live", "/nowhere", "/broken"])
async def test_every_answer_carries_the_security_headers(app: FastAPI, client: httpx.AsyncClient, path: str) -> None:
    app.add_api_route("/broken", AsyncMock(side_effect=RuntimeError))
    headers = (await client.get(path)).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"


async def test_a_refused_request_carries_them_too(client: httpx.AsyncClient) -> None:
    answer = await client.get("/", headers={"Host": "evil.example"})
    assert "content-security-policy" in answer.headers


async def test_no_page_of_the_framework_loads_scripts_from_elsewhere(client: httpx.AsyncClient) -> None:
    assert {(await client.get(path)).status_code for path in ("/docs", "/redoc")} == {404}


@pytest.mark.server_may_fail
async def test_a_connection_that_was_cut_when_nobody_waited_for_it_any_more_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(tell_unheard_error)
    for error in (ConnectionResetError("cut"), ValueError("a fault of ours")):
        loop.create_future().set_exception(error)
    gc.collect()
    loop.set_exception_handler(None)
    assert [str(record.exc_info and record.exc_info[1]) for record in caplog.records] == ["a fault of ours"]
