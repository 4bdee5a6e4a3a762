"""Servers for tests: the application on a real socket, around any store, with keys for whoever a test needs."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpx
import uvicorn
from fastapi import FastAPI
from httpx_sse import ServerSentEvent, aconnect_sse

from tests.identities import ISSUER_OF_LANES
from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.hosting import hosting_of
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.connection import Connection
from threadkeep.server.identity.guards import Guard
from threadkeep.server.metrics import ServerMetrics
from threadkeep.settings import Settings
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.telemetry import Telemetry

PATIENCE = 30.0
EVENTS = {"Accept": "text/event-stream"}
AT_ONCE = {"Prefer": "respond-async"}


@dataclass(frozen=True)
class Server:
    """A server that listens, what it serves, and a client of it."""

    url: str
    app: FastAPI
    conversations: Conversations
    client: httpx.AsyncClient
    web: uvicorn.Server

    async def key(self, tenant: str, user: str, role: KeyRole = KeyRole.USER) -> tuple[ApiKey, dict[str, str]]:
        """Make a key and the header that shows it."""
        secret, scope = new_secret(), Scope(tenant=tenant, user=user)
        key = ApiKey(
            id=new_id(), digest=digest_of(secret), hint=secret[:9], scope=scope, role=role, created_at=utc_now()
        )
        await self.conversations._store.keyring.add(key)
        return key, {"Authorization": f"Bearer {secret}"}

    async def conversation(self, **fields: Any) -> str:
        """Create a conversation and return its path."""
        created = await self.client.post("/v1/conversations", json=fields)
        assert created.status_code == 201, created.text
        return str(created.headers["location"])

    async def until_streams(self, count: int) -> None:
        """Wait until so many event streams are open."""
        async with asyncio.timeout(PATIENCE):
            while self.app.state.open_requests.streams < count:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)

    async def until_nothing_is_asked(self) -> None:
        """Wait until no request is being answered and the metrics show no stream."""
        async with asyncio.timeout(PATIENCE):
            while self.web.server_state.tasks:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)
        assert "threadkeep_open_streams 0" in (await self.client.get("/metrics")).text

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a bare connection."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        return await asyncio.open_connection(host, int(port))

    async def say(self, path: str, content: str, **headers: str) -> httpx.Response:
        """Send a message and wait for the end of its turn."""
        return await self.client.post(f"{path}/messages", json={"content": content}, headers=headers)


class Lane(str):
    """The URL of a store whose servers have these settings, unless a test sets others. `way` is how the local user
    signs in there: with a token of an issuer (`jwt`), or through a service that acts for it (`service`)."""

    settings: dict[str, Any]
    way: str | None = None


@asynccontextmanager
async def serving(
    store: str = "memory:",
    model: str | Model = "demo",
    assistants: Sequence[Assistant] = (),
    connection: Callable[..., Connection] = Connection,
    telemetry: Sequence[Telemetry] = (),
    guard: Guard | None = None,
    **settings: Any,
) -> AsyncIterator[Server]:
    """Serve a store for a while, on a free port or on one that is named."""
    chosen = Settings(store=store, **(store.settings if isinstance(store, Lane) else {}) | settings)
    metrics = ServerMetrics()
    hosting = hosting_of(chosen, observers=(metrics, *telemetry))
    conversations = await open_conversations(
        store, assistants, model=model, pace=0, mcp=chosen.mcp.servers, hosting=hosting
    )
    listener = socket.create_server(("127.0.0.1", settings.get("port", 0)), backlog=2048)
    app = create_app(conversations, chosen, metrics, guard=guard)
    for each in telemetry:
        each.surround(app)
    http = cast(type[Connection], connection)
    server = uvicorn.Server(uvicorn.Config(app, http=http, ws="none", log_level="warning", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:
            served = Server(url, app, conversations, client, server)
            client.headers.update(await _shown(served, getattr(store, "way", None)))
            yield served
    finally:
        await conversations.finish_turns(0)
        await app.state.open_requests.end()
        server.should_exit = True
        await running
        await conversations.close()


async def _shown(server: Server, way: str | None) -> dict[str, str]:
    """Return the headers with which the local user signs in."""
    match way:
        case "jwt":
            return ISSUER_OF_LANES.headers(sub=LOCAL.user, role="admin")
        case "service":
            _, headers = await server.key(LOCAL.tenant, "backend", KeyRole.SERVICE)
            return {**headers, "Threadkeep-User": LOCAL.user}
        case _:
            return {}


async def told(client: httpx.AsyncClient, path: str, **headers: str) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the events of a stream as they arrive, as `httpx-sse` reads them."""
    async with aconnect_sse(client, "GET", path, headers=headers) as source:
        assert source.response.status_code == 200
        async with aclosing(source.aiter_sse()) as events:
            async for event in events:
                if event.data:
                    yield event


async def told_until(client: httpx.AsyncClient, path: str, *last: str, **headers: str) -> list[ServerSentEvent]:
    """Return the events of a stream up to the first of these names."""
    found: list[ServerSentEvent] = []
    async with asyncio.timeout(PATIENCE), aclosing(told(client, path, **headers)) as events:
        async for event in events:
            found.append(event)
            if event.event in last:
                return found
    raise AssertionError(f"the stream ended without {last}")


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    """Check that an answer is a problem of this kind."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    said = answer.json()
    assert (answer.status_code, said["status"], said["code"]) == (status, status, code), answer.text
    assert said["detail"]
    assert said["request_id"] == answer.headers["x-request-id"]
