"""The application as `threadkeep serve` wires it, without a socket, for tests that need settings of their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI

from threadkeep.conversations import Conversations
from threadkeep.hosting import hosting_of
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.metrics import ServerMetrics
from threadkeep.settings import Settings
from threadkeep.store.base import Store

URL = "http://127.0.0.1:8000"


@asynccontextmanager
async def served(settings: Settings | None = None, model: Model | str = "demo") -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application of its own."""
    settings, metrics = settings or Settings(store="memory:"), ServerMetrics()
    hosting = hosting_of(settings, observers=(metrics,))
    conversations = await open_conversations("memory:", model=model, pace=0, hosting=hosting)
    try:
        app = create_app(conversations, settings, metrics)
        app.state.tested = conversations
        async with client_of(app) as client:
            yield client
    finally:
        await conversations.finish_turns(0)
        await conversations.close()


def client_of(app: FastAPI) -> httpx.AsyncClient:
    """A client that sees what a client over a socket would see."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=URL)


def app_behind(client: httpx.AsyncClient) -> FastAPI:
    """The application that a client calls."""
    app: FastAPI = vars(client._transport)["app"]
    return app


def store_behind(client: httpx.AsyncClient) -> Store:
    """The store of the application that a client calls."""
    tested: Conversations = app_behind(client).state.tested
    return tested._store


async def conversation(client: httpx.AsyncClient) -> str:
    """The path of a new conversation."""
    return str((await client.post("/v1/conversations")).headers["location"])


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Let everything else run until something can be seen."""
    async with asyncio.timeout(20):
        while not await look():  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
