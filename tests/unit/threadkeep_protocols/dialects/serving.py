"""What the tests of dialects share: an application around a scripted model, a client, and events read back."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.requests import HTTPConnection

from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.identity.guards import LOCAL_IDENTITY, Identity
from threadkeep.settings import Settings
from threadkeep.testing.scripted_model import ScriptedModel, Step
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

URL = "http://127.0.0.1:8000"


@tool(repeatable=True)
def get_budget(cost_center: str) -> dict[str, int]:
    """The budget of a cost centre."""
    return {"budget": 50000, "spent": 35000}


HELPER = Assistant(name="helper", instructions="Help.", tools=Registry([get_budget]))
OTHER = Assistant(name="other", instructions="Do otherwise.")


class ByHeader:
    """Lets in as the user that a header names, so that a test can be several people."""

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return who is named."""
        name = connection.headers.get("x-user")
        return Identity(scope=Scope(tenant="acme", user=name)) if name else LOCAL_IDENTITY

    async def is_valid(self, identity: Identity) -> bool:
        """Everybody stays."""
        return True


@dataclass(frozen=True)
class Served:
    """An application, a client of it, and the model that answers."""

    app: FastAPI
    conversations: Conversations
    client: httpx.AsyncClient
    model: ScriptedModel


@asynccontextmanager
async def serving(
    *answers: list[Step], assistants: tuple[Assistant, ...] = (HELPER, OTHER), settings: Settings | None = None
) -> AsyncIterator[Served]:
    """Serve an empty store in memory, answered by these answers in turn."""
    model = ScriptedModel(*answers)
    conversations = await open_conversations("memory:", assistants, model=model)
    app = create_app(conversations, settings or Settings(store="memory:"))
    app.state.guard = ByHeader()
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        yield Served(app, conversations, client, model)
    await conversations.close()
    model.assert_finished()


def events_in(text: str) -> list[tuple[str, dict[str, Any], str | None]]:
    """Return name, data and cursor of the events that were streamed."""
    found = []
    for chunk in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in chunk.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"]), fields.get("id")))
    return found


def names_and_data(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events without their cursors."""
    return [(name, data) for name, data, _ in events_in(text)]


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    """Check that an answer is a problem of this kind."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    assert (answer.status_code, answer.json()["code"]) == (status, code)
