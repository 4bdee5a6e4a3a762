"""The health routes: whether the process answers, and whether it takes turns."""

import asyncio
import gc
from collections.abc import AsyncIterator
from unittest.mock import AsyncMock

import httpx
import pytest

from tests.integration.serving import assert_problem
from tests.unit.server.serving import served, store_behind
from threadkeep.errors import StoreUnavailable
from threadkeep.server import health
from threadkeep.store.base import Store


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with served() as client:
        yield client


@pytest.fixture
def store(client: httpx.AsyncClient) -> Store:
    return store_behind(client)


async def test_a_healthy_server_says_so(client: httpx.AsyncClient) -> None:
    for path in ("/health/live", "/health/ready"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_store_that_does_not_answer_makes_the_server_unready_but_alive(
    client: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ping", AsyncMock(side_effect=StoreUnavailable("/srv/secret.db does not answer.")))
    answer = await client.get("/health/ready")
    assert_problem(answer, 503, "store_unavailable")
    assert "secret" not in answer.text, "strangers may ask, who are told no paths"
    assert (await client.get("/health/live")).status_code == 200


async def test_a_part_of_the_database_that_is_away_is_told_and_the_server_stays_ready(
    client: httpx.AsyncClient, store: Store
) -> None:
    async def fail(tenant: str) -> None:
        raise StoreUnavailable("The database answered: connection to the remote node worker-2:5432 failed.")

    await store.operations.unreached.each("a job", ["one", "other"], fail)
    answer = await client.get("/health/ready")
    state = answer.json()
    assert (answer.status_code, state["status"], state["unreached"]["tenants"]) == (200, "degraded", 2)
    assert state["unreached"]["error"] == "store_unavailable", "strangers may ask, who are told no machines"
    assert state["since"] == state["unreached"]["since"]
    assert "\nthreadkeep_unreached_tenants 2.0\n" in (await client.get("/metrics")).text


async def test_a_store_that_hangs_is_told_in_time_and_asked_only_once(
    client: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, asked = asyncio.Event(), 0

    async def hang() -> None:
        nonlocal asked
        asked += 1
        await working.wait()

    monkeypatch.setattr(store, "ping", hang)
    monkeypatch.setattr(health, "READY_SECONDS", 0.01)
    for _ in range(3):
        assert_problem(await client.get("/health/ready"), 503, "store_unavailable")
    assert asked == 1
    working.set()
    assert (await client.get("/health/ready")).status_code == 200


async def test_a_store_that_fails_after_the_answer_leaves_no_trace_in_the_log(
    client: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    going_on, failed = asyncio.Event(), asyncio.Event()

    async def fail_late() -> None:
        await going_on.wait()
        failed.set()
        raise StoreUnavailable

    monkeypatch.setattr(store, "ping", fail_late)
    monkeypatch.setattr(health, "READY_SECONDS", 0.01)
    assert_problem(await client.get("/health/ready"), 503, "store_unavailable")
    going_on.set()
    await failed.wait()
    monkeypatch.setattr(store, "ping", AsyncMock())
    assert (await client.get("/health/ready")).status_code == 200
    gc.collect()
    assert "never retrieved" not in caplog.text
