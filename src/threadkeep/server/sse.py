"""Server-sent events on the wire: how an event becomes bytes, and the answer that streams them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Send

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.event_json import TEXT_DELTA, to_json
from threadkeep.conversation.events import FEW_WORDS, Event, ReadersCounted, SpoolChanged, TextDelta, TurnRetrying
from threadkeep.errors import ThreadkeepError

STREAM_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
"""What keeps caches and proxies from holding events back."""

_UNLOGGED = (ReadersCounted, TurnRetrying, SpoolChanged)
"""Events that are in no log, so that they have no place in it."""
_as_json = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class DialectEvent(NamedTuple):
    """An event in the words of a dialect, with the cursor that it has everywhere."""

    name: str
    data: dict[str, Any]
    cursor: Cursor


def encode_event(event: Event | DialectEvent, conversation: str) -> bytes:
    if isinstance(event, DialectEvent):
        return encode(event.name, event.data, event.cursor.encode(conversation), typed=False)
    what, place = event.what, event.cursor
    if isinstance(what, TextDelta) and len(what.text) <= FEW_WORDS and not place.mark:
        return _encode_words(what.message, what.text, conversation, place.seq, place.index, place.offset)
    if isinstance(what, _UNLOGGED):
        return encode(*to_json(what))
    name, data = to_json(what)
    return encode(name, data | _position(place), place.encode(conversation))


@lru_cache(maxsize=256)
def _encode_words(message: str, text: str, conversation: str, seq: int, index: int, offset: int) -> bytes:
    """Return a short text event as bytes, encoded once for all readers of the conversation."""
    place = Cursor.trusted(seq=seq, index=index, message=message, offset=offset, is_thought=False, mark=0)
    position = f',"position":{number}' if (number := place.position) is not None else ""
    said = f'"message":{encode_basestring(message)},"text":{encode_basestring(text)}'
    data = f'{{{said}{position},"type":"{TEXT_DELTA}"}}'
    return _framed(TEXT_DELTA, data, place.encode(conversation))


def _position(cursor: Cursor) -> dict[str, int]:
    position = cursor.position
    return {} if position is None else {"position": position}


def encode(name: str, data: dict[str, Any], id: str | None = None, *, typed: bool = True) -> bytes:
    """Return name and data, in which the name is the `type`, as one event. JSON escapes every line end, so a field
    never breaks off."""
    return _framed(name, _as_json(data | {"type": name} if typed else data), id)


def _framed(name: str, text: str, id: str | None) -> bytes:
    if not text.isascii():
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
    place = f"id: {id}\n" if id is not None else ""
    return f"{place}event: {name}\ndata: {text}\n\n".encode()


class EventStream(StreamingResponse):
    """An answer of events, with a comment as a heartbeat whenever nothing was sent for a while.

    The heartbeat does not depend on the store: while that hangs, the stream stays alive.
    """

    heartbeat_seconds = 15.0

    def __init__(self, chunks: AsyncIterator[bytes], headers: dict[str, str] | None = None) -> None:
        super().__init__(chunks, media_type="text/event-stream", headers={**STREAM_HEADERS, **(headers or {})})
        self._sent_at = 0.0

    async def stream_response(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        beating = asyncio.create_task(self._beat(send))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for chunk in self.body_iterator:
                self._sent_at = loop.time()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            beating.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _beat(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(max(self._sent_at + self.heartbeat_seconds - loop.time(), 0.001))
            if loop.time() - self._sent_at >= self.heartbeat_seconds:
                self._sent_at = loop.time()
                await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})


def sse_response(
    events: AsyncIterator[Event] | AsyncIterator[DialectEvent],
    conversation: str,
    *,
    headers: dict[str, str] | None = None,
) -> EventStream:
    """Answer with the events of a conversation, given by its id, as long as there are any: what a route of your own
    returns, over `turn.events()` or `conversation.follow()`, is what the server's own routes return."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        try:
            async with aclosing(events) as open_events:  # type: ignore[type-var]
                async for event in open_events:
                    yield encode_event(event, conversation)
        except ThreadkeepError as error:
            yield encode("error", {"code": error.code, "detail": str(error)})

    return EventStream(chunks(), headers)
