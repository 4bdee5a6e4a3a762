"""Server-sent events on the wire: how an event becomes bytes, and the answer that streams them."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.responses import StreamingResponse

from threadkeep.errors import ThreadkeepError
from threadkeep.turn.events import Event
from threadkeep.turn.follow import HEARTBEAT, PRESENCE

STREAM_HEADERS = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}
"""What keeps caches and proxies from holding events back."""


def encode_event(event: Event, conversation: str) -> bytes:
    """Return an event as it is sent; a heartbeat is a comment, which no client sees."""
    if event.name == HEARTBEAT:
        return b": still here\n\n"
    if event.name == PRESENCE:
        return encode(event.name, event.data)
    return encode(event.name, event.data, event.cursor.encode(conversation))


def encode(name: str, data: object, id: str | None = None) -> bytes:
    """Return name and data as one event. JSON escapes every line end, so a field never breaks off."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
    place = f"id: {id}\n" if id is not None else ""
    return f"{place}event: {name}\ndata: {text}\n\n".encode()


def stream(
    events: AsyncIterator[Event],
    conversation: str,
    *,
    headers: dict[str, str] | None = None,
    until: Callable[[Event], Awaitable[bool]] | None = None,
) -> StreamingResponse:
    """Answer with events, for ever or until one of them is the last."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            async with aclosing(events) as open_events:  # type: ignore[type-var]
                async for event in open_events:
                    yield encode_event(event, conversation)
                    if until is not None and await until(event):
                        return
        except ThreadkeepError as error:
            yield encode("error", {"code": error.code, "detail": str(error)})

    return StreamingResponse(chunks(), media_type="text/event-stream", headers={**STREAM_HEADERS, **(headers or {})})
