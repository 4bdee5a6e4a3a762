"""The wire: data without names, and errors in the shape of a protocol."""

import json
from collections.abc import AsyncIterator

import pytest
from fastapi import APIRouter, Response

from tests.unit.threadkeep_protocols.dialects.serving import serving
from threadkeep.conversations import Conversations
from threadkeep.errors import StoreError, ThreadkeepError
from threadkeep.server.identity.guards import Who
from threadkeep.settings import Settings
from threadkeep_protocols.wire import Told, data_event, data_stream, route_with


def _shape(status: int, code: str, detail: str) -> object:
    return {"error": {"type": code, "message": detail, "status": status}}


def clock_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """A protocol that tells something and then fails."""
    router = APIRouter(include_in_schema=False)

    async def ticks() -> AsyncIterator[Told]:
        yield {"tick": "a\u2028b"}
        raise StoreError("The clock is away.")

    def failed(error: ThreadkeepError) -> list[Told]:
        return [{"error": error.code}, "[DONE]"]

    @router.get("/clock")
    async def clock() -> Response:
        return data_stream(ticks(), failed, {"x-clock": "v1"})

    return router


def echo_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """A protocol with errors of its own shape."""
    router = APIRouter(include_in_schema=False, route_class=route_with(_shape))

    @router.get("/echo")
    async def echo(who: Who, conversation: str) -> str:
        return (await conversations.get(conversation, scope=who.scope)).id

    return router


async def test_a_stream_has_no_names_and_an_error_is_told_in_the_protocols_words() -> None:
    async with serving() as served:
        served.app.include_router(clock_routes(served.conversations, Settings()))
        answer = await served.client.get("/clock")
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["x-clock"] == "v1"
        assert answer.text == 'data: {"tick":"a\\u2028b"}\n\ndata: {"error":"store_error"}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [("?conversation=nobody", 404, "conversation_not_found"), ("", 422, "invalid_request")],
)
async def test_an_error_has_the_shape_of_the_protocol_and_our_code(query: str, status: int, code: str) -> None:
    async with serving() as served:
        served.app.include_router(echo_routes(served.conversations, Settings()))
        answer = await served.client.get(f"/echo{query}")
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["error"]["type"] == code


def test_an_event_is_one_line() -> None:
    said = {"text": "a\nb\r\u2028\u2029\x85"}
    event = data_event(said).decode()
    assert len(event.splitlines()) == 2
    assert json.loads(event.removeprefix("data: ")) == said
