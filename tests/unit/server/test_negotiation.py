"""What clients write into Accept, Accept-Encoding and Prefer, and what is made of it."""

import httpx
import pytest

from tests.unit.server.serving import conversation, served
from threadkeep.server.negotiation import takes_gzip, wants_no_wait, wants_stream
from threadkeep.settings import Settings


@pytest.mark.parametrize(
    "accept",
    [
        *("text/event-stream", "Text/Event-Stream", "text/event-stream; charset=utf-8", "text/event-stream, */*"),
        *("application/json, text/event-stream", "application/json;q=0.5, text/event-stream;q=0.5"),
        *("text/event-stream;q=0.1", "text/event-stream;q=odd"),
    ],
)
def test_a_stream_is_wanted(accept: str) -> None:
    assert wants_stream(accept)


@pytest.mark.parametrize(
    "accept",
    [
        *("", "*/*", "text/*", "application/json", "text/html", "x-text/event-stream", "text/event-stream-2", ",;,q=1"),
        *("text/event-stream;q=0", "text/event-stream; Q=0.000, */*", "application/json, text/event-stream;q=0.9"),
    ],
)
def test_one_answer_is_wanted(accept: str) -> None:
    assert not wants_stream(accept)


@pytest.mark.parametrize("prefer", ["respond-async", "Respond-Async", "wait=5, respond-async", "respond-async; x=1"])
def test_nobody_waits_for_it(prefer: str) -> None:
    assert wants_no_wait(prefer)


@pytest.mark.parametrize(
    "prefer", ["", "wait=5", "respond-asynchronously", 'note="respond-async"', "x=1; respond-async"]
)
def test_it_is_waited_for(prefer: str) -> None:
    assert not wants_no_wait(prefer)


@pytest.mark.parametrize("accept", ["gzip", "br, GZIP;q=0.5", "gzip, deflate, br, zstd"])
def test_a_packed_file_is_taken(accept: str) -> None:
    assert takes_gzip(accept)


@pytest.mark.parametrize("accept", ["", "identity", "br", "gzip;q=0", "x-gzip-like"])
def test_a_packed_file_is_not_taken(accept: str) -> None:
    assert not takes_gzip(accept)


ADDRESSES = [
    *("/", "/c/any", "/sw.js", "/static/app.js", "/health/live", "/health/ready", "/openapi.json"),
    *("/v1/me", "/v1/conversations", "/v1/search?q=word", "/v1/admin/usage", "/api/v1/sessions"),
    *("/v1/conversations/missing", "/nowhere"),
]


def _told(answer: httpx.Response) -> dict[str, str]:
    """Return the headers that tell of the body."""
    return {name: answer.headers[name] for name in ("content-type", "content-length", "etag") if name in answer.headers}


async def test_it_answers_as_get_does_but_for_the_body() -> None:
    async with served() as client:
        for path in ADDRESSES:
            whole, head = await client.get(path), await client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b"")
            assert _told(head) == _told(whole)


async def test_a_conversation_tells_its_version_and_its_export_its_name() -> None:
    async with served() as client:
        path = await conversation(client)
        assert (await client.head(path)).headers["etag"] == '"1"'
        export = await client.head(f"{path}/export")
        assert (export.status_code, export.content) == (200, b"")
        assert "attachment" in export.headers["content-disposition"]


async def test_no_stream_is_begun_for_it_and_no_model_asked() -> None:
    async with served() as client:
        path = await conversation(client)
        streams = {
            f"{path}/events": "GET",
            "/v1/events": "GET",
            f"/stream?session_id={path.rpartition('/')[2]}": "GET",
            "/v1/chat/query/stream?query=hi": "GET, POST",
        }
        for stream, allowed in streams.items():
            answer = await client.head(stream)
            assert (answer.status_code, answer.headers["allow"]) == (405, allowed), stream


async def test_it_asks_who_is_there_as_get_does() -> None:
    async with served(Settings(store="memory:", auth="keys")) as client:
        assert (await client.head("/v1/me")).status_code == 401
        assert (await client.head("/v1/events")).status_code == 401


async def test_it_is_counted_as_what_it_is_by_its_route() -> None:
    async with served() as client:
        await client.head("/v1/conversations/missing")
        told = (await client.get("/metrics")).text
        route = 'method="HEAD",route="/v1/conversations/{id}",status="404"'
        assert f"threadkeep_requests_total{{{route}}} 1" in told
