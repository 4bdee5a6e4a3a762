"""The server as a part of another FastAPI application, mounted under a path of it, whose lifespan alone is run."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from starlette.testclient import TestClient

import threadkeep
from tests.documents import blocks_of
from tests.integration.serving import PATIENCE, assert_problem, told, told_until
from threadkeep import Conversations, Scope, Settings, create_app, sse_response
from threadkeep.conversation.api_key import KeyRole
from threadkeep.server.connection import Connection

PATH = "/team/keep"


@dataclass
class Host:
    """An application of somebody else's, listening, with ours mounted in it."""

    client: httpx.AsyncClient
    conversations: Conversations
    whole: FastAPI


@asynccontextmanager
async def hosting(**settings: Any) -> AsyncIterator[Host]:
    async with threadkeep.open("memory:", model="demo") as conversations:
        host = FastAPI()
        host.mount(PATH, create_app(conversations, Settings(store="memory:", **settings)))

        @host.get("/ask")
        async def ask(question: str) -> Response:
            conversation = await conversations.create()
            turn = await conversation.send(question)
            return sse_response(turn.events(), conversation.id)

        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(host, log_level="warning", http=Connection, timeout_graceful_shutdown=1))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            yield Host(client, conversations, host)
        server.should_exit = True
        await running


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with hosting() as opened:
        yield opened


async def test_the_api_answers_under_the_path_and_names_its_addresses_there(host: Host) -> None:
    made = await host.client.post(f"{PATH}/v1/conversations", json={"title": "Names"})
    assert made.status_code == 201
    assert made.headers["location"] == f"{PATH}/v1/conversations/{made.json()['id']}"
    said = await host.client.post(f"{made.headers['location']}/messages", json={"content": "My name is Ada."})
    assert said.json()["message"]["content"].startswith("Nice to meet you, Ada!")
    described = (await host.client.get(f"{PATH}/openapi.json")).json()
    assert described["servers"] == [{"url": PATH}]
    assert_problem(await host.client.get(f"{PATH}/v1/nothing"), 404, "not_found")


async def test_the_page_asks_for_its_files_under_the_path(host: Host) -> None:
    for address in (f"{PATH}/", f"{PATH}/c/abc"):
        page = await host.client.get(address)
        assert f'src="{PATH}/static/whole.js"' in page.text
        assert f'data-root="{PATH}"' in page.text
    assert (await host.client.get(f"{PATH}/static/whole.js")).status_code == 200
    assert f'"{PATH}/static/whole.js"' in (await host.client.get(f"{PATH}/sw.js")).text


async def test_a_route_of_the_host_writes_the_same_events_as_the_server(host: Host) -> None:
    told_here = await told_until(host.client, "/ask?question=Hello", "turn.completed")
    (made,) = (await host.conversations.list()).items
    path = f"{PATH}/v1/conversations/{made.id}/events?after=0"
    told_there = await told_until(host.client, path, "turn.completed")
    assert told_here[-1].data == told_there[-1].data
    assert told_here[-1].id == told_there[-1].id


async def test_streams_of_a_revoked_key_end_though_the_lifespan_of_the_mounted_one_is_not_run() -> None:
    async with hosting(auth="keys") as host:
        scope = Scope(tenant="acme", user="ada")
        secret, key = await host.conversations.admin.create_key(scope, KeyRole.USER)
        shown = {"Authorization": f"Bearer {secret}"}
        made = await host.client.post(f"{PATH}/v1/conversations", headers=shown)
        events = told(host.client, f"{made.headers['location']}/events", **shown)
        assert (await anext(events)).event == "presence"
        await host.conversations.admin.revoke_key(key.id, scope.tenant)
        async with asyncio.timeout(PATIENCE):
            assert (await anext(events)).json()["code"] == "not_authenticated"
        await events.aclose()


def test_the_example_of_the_page_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = blocks_of("docs/howto/mount-in-an-app.md")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(example.text, "app.py", "exec"), names)  # noqa: S102 - ours
    with TestClient(names["app"], base_url="http://localhost") as client:
        told = client.post("/ask", params={"question": "My name is Ada."}).text
        assert "event: turn.completed" in told
        (listed,) = client.get("/keep/v1/conversations").json()["data"]
        assert listed["entries"] > 0
