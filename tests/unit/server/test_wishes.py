"""What clients write into Accept, Accept-Encoding and Prefer, and what is made of it."""

import pytest

from threadkeep.server.wishes import takes_gzip, wants_no_wait, wants_stream


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
