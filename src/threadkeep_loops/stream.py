"""A turn as one request: lines of JSON come in, acknowledgements go out, so that a token costs no round trip.

Acknowledgements never hold the loop up: what was not taken by the client yet is told with the next one. A client that
reads only at the end therefore gets a few, and none is lost that matters, since each tells how much is stored by then.
"""

import asyncio
import json
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from threadkeep.conversation.value import check_text
from threadkeep.errors import ContentTooLarge, InvalidInput, InvalidValue, ThreadkeepError
from threadkeep.server.sse import STREAM_HEADERS
from threadkeep_loops import bodies
from threadkeep_loops.taking import end, take
from threadkeep_loops.turn import OwnTurn

TELL_EVERY = 0.25
"""Seconds after which it is told how much text is stored; everything else is told at once."""
MOST_LINE = 4 * 1024 * 1024
_LINES: TypeAdapter[Any] = TypeAdapter(bodies.Line)


class LoopStream(Response):
    """Takes the lines of a request and tells what became of them."""

    media_type = "application/x-ndjson"

    def __init__(self, turn: OwnTurn) -> None:
        super().__init__(headers=STREAM_HEADERS)
        self._turn = turn
        self._lines = 0
        self._news = asyncio.Event()
        self._problem: dict[str, Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        reading = asyncio.create_task(self._read(receive))
        try:
            await self._tell(send, reading)
        finally:
            reading.cancel()
            await asyncio.wait((reading,))
            self._turn.leave()

    async def _tell(self, send: Send, reading: asyncio.Task[None]) -> None:
        told: dict[str, Any] = {}
        while not reading.done():
            news = asyncio.create_task(self._news.wait())
            await asyncio.wait((reading, news), timeout=TELL_EVERY, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            self._news.clear()
            if not reading.done() and (now := self._so_far()) != told:
                told = now
                await send({"type": "http.response.body", "body": _line(told), "more_body": True})
        last = self._so_far() | {"turn": self._turn.number, "state": self._turn.state}
        if self._problem is not None:
            last["problem"] = self._problem
        await send({"type": "http.response.body", "body": _line(last), "more_body": False})

    def _so_far(self) -> dict[str, Any]:
        return {"lines": self._lines, "offset": self._turn.offset}

    async def _read(self, receive: Receive) -> None:
        try:
            await self._turn.host(self._turn.active.lease)
            await self._take_all(receive)
        except ThreadkeepError as error:
            named = {name: getattr(error, name) for name in ("state", "offset") if hasattr(error, name)}
            self._problem = {"code": error.code, "detail": str(error), **named}
        except asyncio.CancelledError:
            if not self._turn.was_stopped:
                raise
            state = await self._turn.state_now()
            self._problem = {"code": "turn_over", "detail": "The turn was stopped.", "state": state}

    async def _take_all(self, receive: Receive) -> None:
        rest, goes_on = b"", True
        while goes_on:
            message = await receive()
            goes_on = message["type"] == "http.request" and message.get("more_body", False)
            *lines, rest = (rest + message.get("body", b"")).split(b"\n")
            if len(rest) > MOST_LINE:
                raise ContentTooLarge(f"A line has at most {MOST_LINE} bytes.")
            await self._take_lines([line for line in (lines if goes_on else (*lines, rest)) if line.strip()])
        await self._turn.flush()

    async def _take_lines(self, lines: list[bytes]) -> None:
        """Take lines in order; texts that arrived together are written together."""
        texts: list[str] = []
        try:
            for line in lines:
                said = self._parsed(line)
                if type(said) is str:
                    texts.append(said)
                else:
                    await self._turn.text("".join(texts))
                    texts.clear()
                    await self._take(said)
                self._lines += 1
        finally:
            await self._turn.text("".join(texts))  # also what came before a line that is refused

    def _parsed(self, line: bytes) -> Any:
        """Return what a line says, of the text of an answer, which nearly all lines are, the text alone."""
        try:
            said = json.loads(line)
            if type(said) is dict and said.get("type") == "text" and type(said.get("text")) is str and len(said) == 2:
                return check_text(said["text"])
            return _LINES.validate_python(said)
        except (ValueError, RecursionError, InvalidInput) as error:
            wrong = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise InvalidValue(f"Line {self._lines + 1} is not valid: {wrong}") from None

    async def _take(self, item: Any) -> None:
        if isinstance(item, bodies.SettleLine):
            await end(self._turn, item)
        else:
            await take(self._turn, [item], None)
        self._news.set()


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"
