"""What a provider has sent of an answer, as our deltas, and what spans them: places of calls, usage, the reason."""

from collections.abc import Iterator

from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Delta, Stopped, Text, Used


class Pieces:
    """Takes up the pieces of one answer; text that came together leaves together."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.has_calls = False
        self._texts: list[str] = []
        self._calls: list[CallPart] = []
        self._usage: Usage | None = None
        self._places: dict[object, int] = {}
        self._ids: list[str | None] = []
        self._half = ""

    def add_text(self, text: str) -> None:
        """Take up some text."""
        self._texts.append(text)

    def add_call(self, index: int | str | None, id: str | None, name: str | None, args: str) -> None:
        """Take up a part of a tool call."""
        self.has_calls = True
        self._calls.append(CallPart(index=self._place(index, id, name), id=id or None, name=name or None, args=args))

    def set_usage(self, given: int, made: int, cached: int) -> None:
        """Note the tokens that were counted so far."""
        self._usage = Usage(input_tokens=max(0, given), output_tokens=max(0, made), cached_tokens=max(0, cached))

    def taken(self) -> Iterator[Delta]:
        """Yield what came since the last time."""
        if self._texts and (text := self._whole_text("".join(self._texts))):
            yield Text(text)
        yield from self._calls
        if self._usage is not None:
            yield Used(self._usage)
        self._texts, self._calls, self._usage = [], [], None

    def end(self, *, is_orderly: bool = False) -> Iterator[Stopped]:
        """Yield why the answer ended. Without a reason it was cut off, unless the provider is known to give none."""
        reason = self.reason or ("end" if is_orderly else None)
        if reason == "completed":
            reason = "tool_calls" if self.has_calls else "stop"
        if reason:
            yield Stopped(reason)

    def _whole_text(self, text: str) -> str:
        """Return the text with half characters put together; a half at the end waits for the next piece."""
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _place(self, index: int | str | None, id: str | None, name: str | None) -> int:
        """Return the place of a call. Some providers give no index, and some give one index to several calls."""
        place = self._places.get(index) if index is not None else len(self._ids) - 1
        is_new = bool(id or name) if index is None else place is None or bool(id and self._ids[place] not in (None, id))
        if is_new or place is None or place < 0:
            place = self._places[index] = len(self._ids)
            self._ids.append(id)
        self._ids[place] = self._ids[place] or id
        return place
