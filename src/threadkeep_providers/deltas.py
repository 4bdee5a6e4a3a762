"""From the bytes of a stream to our deltas: server-sent events of JSON, and the buffer that takes what they say."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from json import JSONDecoder
from typing import Any

from threadkeep.conversation.message import Usage
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text, Used

MOST_OF_EVENT = 16 * 1024 * 1024
"""How many bytes one event may have."""

Event = Mapping[str, Any]
_decode = JSONDecoder().raw_decode
_PIECE = 64 * 1024
"""Up to so many bytes, a piece of a stream is looked at for being one whole event."""


def _parsed(text: str) -> Any:
    """Return the JSON value in a text; only white space may follow it."""
    value, end = _decode(text)
    if end != len(text) and text[end:].strip():
        raise ValueError("an event is more than JSON")
    return value


class DeltaBuffer:
    """Collects the pieces of one answer in order; text pieces that came together are joined."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.has_calls = False
        self._ready: list[Delta] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._usage: Usage | None = None
        self._places: dict[object, int] = {}
        self._ids: list[str | None] = []
        self._half = ""

    def add_text(self, text: str) -> None:
        if self._thoughts:
            self._join()
        self._texts.append(text)

    def add_reasoning(self, text: str, payload: dict[str, Any] | None = None, *, is_of_call: bool = False) -> None:
        """Take some reasoning; a payload ends a piece of it, and may belong to the call that came last."""
        if self._texts:
            self._join()
        if text:
            self._thoughts.append(text)
        if payload is not None:
            self._join()
            self._ready.append(Reasoned(payload=payload, call=len(self._ids) - 1 if is_of_call else None))

    def add_call(self, index: int | str | None, id: str | None, name: str | None, args: str) -> None:
        self.has_calls = True
        place = self._call_index(index, id, name)
        self._join()
        self._ready.append(CallPart(index=place, id=id or None, name=name or None, args=args))

    def set_usage(self, given: int, made: int, cached: int) -> None:
        self._usage = Usage(input_tokens=max(0, given), output_tokens=max(0, made), cached_tokens=max(0, cached))

    def drain(self) -> list[Delta]:
        """Return what came since the last time."""
        if self._texts or self._thoughts:
            self._join()
        ready, self._ready = self._ready, []
        if self._usage is not None:
            ready.append(Used(self._usage))
            self._usage = None
        return ready

    def end(self, *, is_orderly: bool = False) -> list[Delta]:
        """Return why the answer ended. Without a reason it was cut off, unless the provider is known to give none."""
        reason = self.reason or ("end" if is_orderly else None)
        if reason == "completed":
            reason = "tool_calls" if self.has_calls else "stop"
        return [Stopped(reason)] if reason else []

    def _join(self) -> None:
        """Join the collected pieces of text or reasoning."""
        if self._thoughts:
            if thought := self._whole_text("".join(self._thoughts)):
                self._ready.append(Reasoned(text=thought))
            self._thoughts = []
        if self._texts:
            if text := self._whole_text("".join(self._texts)):
                self._ready.append(Text(text))
            self._texts = []

    def _whole_text(self, text: str) -> str:
        """Return the text with surrogate pairs joined; a first half at the end waits for the next piece."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _call_index(self, index: int | str | None, id: str | None, name: str | None) -> int:
        """Return the place of a call. Some providers give no index, and some give one index to several calls."""
        place = self._places.get(index) if index is not None else len(self._ids) - 1
        is_new = bool(id or name) if index is None else place is None or bool(id and self._ids[place] not in (None, id))
        if is_new or place is None or place < 0:
            place = self._places[index] = len(self._ids)
            self._ids.append(id)
        self._ids[place] = self._ids[place] or id
        return place


Reader = Callable[[Event, DeltaBuffer], None]
"""Puts what one event says into the buffer, and ignores whatever it does not know."""


class Events:
    """Parses the events of a stream from its bytes; an incomplete event waits for the rest."""

    def __init__(self) -> None:
        self.count = 0
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterable[Any]:
        """Return the events that end in this piece of the stream. Most pieces are one event, whole."""
        is_whole = data.startswith(b"data: {") and data.endswith(b"}\n\n") and data.count(b"\n") == 2
        if is_whole and not (self._size or self._data) and len(data) < _PIECE:
            self.count += 1
            return (_parsed(data[6:-2].decode()),)
        return self._fed(data)

    def _fed(self, data: bytes) -> Iterator[Any]:
        self._rest.append(data)
        self._size += len(data)
        if self._size > MOST_OF_EVENT:
            raise ModelUnavailable("The provider sent an event without an end.")
        if b"\n" not in data:
            return
        lines = b"".join(self._rest).split(b"\n")
        self._rest = [lines.pop()]
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line and self._data:
                text, self._data = b"\n".join(self._data), []
                if text != b"[DONE]":
                    self.count += 1
                    yield _parsed(text.decode().strip())
        self._size = len(self._rest[0]) + sum(map(len, self._data))
