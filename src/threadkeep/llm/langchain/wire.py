"""What providers stream, as our deltas, without an object for each token: server-sent events of JSON.

Four forms: OpenAI's chat completions and Responses API, Anthropic's messages, Gemini's contents. A reader takes one
event and ignores whatever it does not know.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text, Used

Event = Mapping[str, Any]
Reader = Callable[[Event, "DeltaBuffer"], None]


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

    def drain(self) -> Iterator[Delta]:
        """Yield what came since the last time."""
        self._join()
        yield from self._ready
        if self._usage is not None:
            yield Used(self._usage)
        self._ready, self._usage = [], None

    def _join(self) -> None:
        """Join the collected pieces of text or reasoning."""
        if self._thoughts and (thought := self._whole_text("".join(self._thoughts))):
            self._ready.append(Reasoned(text=thought))
        if self._texts and (text := self._whole_text("".join(self._texts))):
            self._ready.append(Text(text))
        self._thoughts, self._texts = [], []

    def end(self, *, is_orderly: bool = False) -> Iterator[Stopped]:
        """Yield why the answer ended. Without a reason it was cut off, unless the provider is known to give none."""
        reason = self.reason or ("end" if is_orderly else None)
        if reason == "completed":
            reason = "tool_calls" if self.has_calls else "stop"
        if reason:
            yield Stopped(reason)

    def _whole_text(self, text: str) -> str:
        """Return the text with surrogate pairs joined; a first half at the end waits for the next piece."""
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _call_index(self, index: int | str | None, id: str | None, name: str | None) -> int:
        """Return the place of a call. Some providers give no index, and some give one index to several calls."""
        place = self._places.get(index) if index is not None else len(self._ids) - 1
        is_new = bool(id or name) if index is None else place is None or bool(id and self._ids[place] not in (None, id))
        if is_new or place is None or place < 0:
            place = self._places[index] = len(self._ids)
            self._ids.append(id)
        self._ids[place] = self._ids[place] or id
        return place


class StreamedAPIError(Exception):
    """An error that a provider sent instead of the rest of an answer, or with an error status."""

    def __init__(self, error: Any, status: int | None = None, response: Any = None) -> None:
        details = error if isinstance(error, Mapping) else {"message": error}
        super().__init__(str(details.get("message") or details))
        self.body = {"error": details}
        self.response = response
        code = details.get("code")
        # Some gateways send the status of the server behind them in the event.
        self.status_code = status or (code if isinstance(code, int) and code >= 400 else None)


class Events:
    """Parses the events of a stream from its bytes; an incomplete event waits for the rest."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        self._rest.append(data)
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
                    yield _checked_event(json.loads(text.decode()))


def _checked_event(event: Any) -> Event:
    if not isinstance(event, dict):
        raise StreamedAPIError("an event is no object")
    if event.get("error"):
        raise StreamedAPIError(event["error"])
    return event


def read_openai_chat(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of OpenAI's chat completions, and of all that are compatible with them."""
    for choice in (event.get("choices") or ())[:1]:
        delta = choice.get("delta") or {}
        # Compatible servers send reasoning under one of two names.
        if isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str):
            buffer.add_reasoning(thought)
        if text := delta.get("content"):
            buffer.add_text(_content_text(text))
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            buffer.add_call(call.get("index"), call.get("id"), function.get("name"), function.get("arguments") or "")
        buffer.reason = choice.get("finish_reason") or buffer.reason
    if counted := event.get("usage"):
        cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        buffer.set_usage(counted.get("prompt_tokens") or 0, counted.get("completion_tokens") or 0, cached)


def _content_text(content: Any) -> str:
    """Return the text of a content, which compatible servers may send in parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))


BETWEEN_SUMMARIES = "\n\n"
"""What stands between two summaries of one piece of reasoning."""
_REASONING_ITEM = ("id", "summary", "content", "encrypted_content")


def read_openai_response(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of OpenAI's Responses API."""
    match event.get("type"):
        case "response.output_text.delta":
            buffer.add_text(event["delta"])
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            buffer.add_reasoning(event["delta"])
        case "response.reasoning_summary_part.added" if event.get("summary_index"):
            buffer.add_reasoning(BETWEEN_SUMMARIES)
        case "response.output_item.done" if event["item"].get("type") == "reasoning":
            item = event["item"]
            buffer.add_reasoning("", {name: item[name] for name in _REASONING_ITEM if item.get(name)})
        case "response.output_item.added" if event["item"].get("type") == "function_call":
            item = event["item"]
            buffer.add_call(event["output_index"], item["call_id"], item["name"], item.get("arguments") or "")
        case "response.function_call_arguments.delta":
            buffer.add_call(event["output_index"], None, None, event["delta"])
        case "response.completed" | "response.incomplete" | "response.failed":
            _read_end_of_response(event["response"], buffer)
        case "error":
            raise StreamedAPIError(event)


def _read_end_of_response(response: Event, buffer: DeltaBuffer) -> None:
    if error := response.get("error"):
        raise StreamedAPIError(error)
    if counted := response.get("usage"):
        cached = (counted.get("input_tokens_details") or {}).get("cached_tokens") or 0
        buffer.set_usage(counted.get("input_tokens") or 0, counted.get("output_tokens") or 0, cached)
    buffer.reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status")


class AnthropicReader:
    """Reads the events of Anthropic's messages; the input is counted at the start, the output at the end."""

    def __init__(self) -> None:
        self._counted: dict[str, int] = {}

    def __call__(self, event: Event, buffer: DeltaBuffer) -> None:
        match event.get("type"):
            case "content_block_delta":
                delta = event["delta"]
                if delta.get("type") == "text_delta":
                    buffer.add_text(delta["text"])
                elif delta.get("type") == "thinking_delta":
                    buffer.add_reasoning(delta["thinking"])
                elif delta.get("type") == "signature_delta":
                    buffer.add_reasoning("", {"signature": delta["signature"]})
                elif delta.get("type") == "input_json_delta":
                    self._add_args(event["index"], delta["partial_json"], buffer)
            case "content_block_start":
                self._start(event["index"], event["content_block"], buffer)
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                buffer.reason = event["delta"].get("stop_reason") or buffer.reason
                self._count(event.get("usage"))
                counted = self._counted
                cached = counted.get("cache_read_input_tokens", 0)
                given = counted.get("input_tokens", 0) + cached + counted.get("cache_creation_input_tokens", 0)
                buffer.set_usage(given, counted.get("output_tokens", 0), cached)

    def _start(self, index: int, block: Event, buffer: DeltaBuffer) -> None:
        self._call = index if block.get("type") == "tool_use" else None
        if self._call is not None:
            given = json.dumps(block["input"]) if block.get("input") else ""
            buffer.add_call(index, block["id"], block["name"], given)
        elif block.get("type") == "text" and block.get("text"):
            buffer.add_text(block["text"])
        elif block.get("type") == "redacted_thinking":
            buffer.add_reasoning("", {"data": block["data"]})

    def _add_args(self, index: int, args: str, buffer: DeltaBuffer) -> None:
        if index == self._call:  # not the arguments of a tool that the provider runs itself
            buffer.add_call(index, None, None, args)

    def _count(self, usage: Event | None) -> None:
        self._counted |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def read_gemini(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of Gemini's: parts of contents, calls always whole."""
    for candidate in (event.get("candidates") or ())[:1]:
        for part in (candidate.get("content") or {}).get("parts") or ():
            if part.get("text"):
                (buffer.add_reasoning if part.get("thought") else buffer.add_text)(part["text"])
            if call := part.get("functionCall"):
                buffer.add_call(None, call.get("id"), call["name"], json.dumps(call.get("args") or {}))
                if signature := part.get("thoughtSignature"):
                    buffer.add_reasoning("", {"signature": signature}, is_of_call=True)
        reason = (candidate.get("finishReason") or "").lower()
        # The rest would have to be requested: the answer counts as cut off.
        buffer.reason = reason if reason and reason != "continuation" else buffer.reason
    if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
        buffer.reason = f"blocked: {blocked.lower()}"
    if counted := event.get("usageMetadata"):
        given = (counted.get("promptTokenCount") or 0) + (counted.get("toolUsePromptTokenCount") or 0)
        made = (counted.get("candidatesTokenCount") or 0) + (counted.get("thoughtsTokenCount") or 0)
        buffer.set_usage(given, made, counted.get("cachedContentTokenCount") or 0)
