"""Requests that are open: how each of them ends when the server stops, what is recorded of it, and who stays for it."""

import asyncio
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.server.middleware.tracking import (
    GOODBYE,
    OpenRequests,
    RecordRequests,
    RequestRecord,
    TrackRequests,
    unless_gone,
)

SCOPE: Scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "client": ("192.0.2.1", 1)}


async def _nothing() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def _leaves() -> Message:
    return {"type": "http.disconnect"}


def _app(kind: bytes, begun: asyncio.Event, *, answers: bool = True) -> ASGIApp:
    """Return an application that begins an answer, or not even that, and hangs."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if answers:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        begun.set()
        await asyncio.Event().wait()

    return app


async def _stopped(app: ASGIApp, begun: asyncio.Event, requests: OpenRequests) -> list[dict[str, Any]]:
    """Return what a client is sent if the server stops meanwhile."""
    sent: list[dict[str, Any]] = []

    async def send(message: Message) -> None:
        sent.append(dict(message))

    answering = asyncio.ensure_future(TrackRequests(app, requests)(dict(SCOPE), _nothing, send))
    await begun.wait()
    await requests.end()
    await answering
    return sent


async def test_a_stream_ends_with_a_goodbye() -> None:
    begun, requests = asyncio.Event(), OpenRequests()
    sent = await _stopped(_app(b"text/event-stream", begun), begun, requests)
    assert sent[-1] == {"type": "http.response.body", "body": GOODBYE, "more_body": False}
    assert requests.streams == 0


async def test_who_waits_for_an_answer_is_told_to_come_again() -> None:
    begun, requests = asyncio.Event(), OpenRequests()
    sent = await _stopped(_app(b"", begun, answers=False), begun, requests)
    assert sent[0]["status"] == 503
    assert b'"code":"stopping"' in sent[1]["body"]


async def test_nobody_is_let_in_after_that() -> None:
    begun, requests = asyncio.Event(), OpenRequests()
    await requests.end()
    begun.set()
    assert (await _stopped(_app(b"", begun), begun, requests))[0]["status"] == 503


async def test_a_request_that_failed_or_was_given_up_is_recorded_as_such() -> None:
    records: list[RequestRecord] = []

    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError("disk")

    async def is_given_up(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    for app, kind in ((fails, OSError), (is_given_up, asyncio.CancelledError)):
        with pytest.raises(kind):
            await RecordRequests(app, (records.append,))(dict(SCOPE), _nothing, _unsent)
    assert [(each.status, each.problem, each.route, each.client) for each in records] == [
        (500, "internal_error", "unmatched", "192.0.2.1"),
        (499, None, "unmatched", "192.0.2.1"),
    ]


async def _unsent(message: Message) -> None:
    raise AssertionError(message)


async def test_work_ends_when_its_client_leaves() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ClientDisconnect):
        await unless_gone(_leaves, work())
    assert ended.is_set()


async def test_work_that_is_done_is_worth_its_result() -> None:
    async def work() -> int:
        return 5

    assert await unless_gone(_nothing, work()) == 5
