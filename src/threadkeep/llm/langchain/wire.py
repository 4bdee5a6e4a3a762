"""What providers send while they stream, read without an object for each token: server-sent events of JSON.

Four forms: OpenAI's chat completions and Responses API, Anthropic's messages, Gemini's contents. A reader takes up one
event; whatever it does not know says nothing.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from threadkeep.llm.langchain.pieces import Pieces

Event = Mapping[str, Any]
Reader = Callable[[Event, Pieces], None]


class StreamedAPIError(Exception):
    """An error that a provider sent instead of the rest of an answer, or with a status that is none of success."""

    def __init__(self, error: Any, status: int | None = None, response: Any = None) -> None:
        told = error if isinstance(error, Mapping) else {"message": error}
        super().__init__(str(told.get("message") or told))
        self.body = {"error": told}
        self.response = response
        code = told.get("code")
        # Some tell the status of what is behind them in the event itself.
        self.status_code = status or (code if isinstance(code, int) and code >= 400 else None)


class Events:
    """Puts the events of a stream together from the bytes that come; half an event waits for its other half."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that are whole now."""
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
                    yield _checked(json.loads(text))


def _checked(event: Any) -> Event:
    if not isinstance(event, dict):
        raise StreamedAPIError("an event is no object")
    if event.get("error"):
        raise StreamedAPIError(event["error"])
    return event


def read_completion(event: Event, pieces: Pieces) -> None:
    """Read an event of OpenAI's chat completions, and of all that are compatible with them."""
    for choice in (event.get("choices") or ())[:1]:
        delta = choice.get("delta") or {}
        if text := delta.get("content"):
            pieces.add_text(_text(text))
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            pieces.add_call(call.get("index"), call.get("id"), function.get("name"), function.get("arguments") or "")
        pieces.reason = choice.get("finish_reason") or pieces.reason
    if counted := event.get("usage"):
        cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        pieces.set_usage(counted.get("prompt_tokens") or 0, counted.get("completion_tokens") or 0, cached)


def _text(content: Any) -> str:
    """Return the text of a content, which compatible servers may send in parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))


def read_response(event: Event, pieces: Pieces) -> None:
    """Read an event of OpenAI's Responses API."""
    match event.get("type"):
        case "response.output_text.delta":
            pieces.add_text(event["delta"])
        case "response.output_item.added" if event["item"].get("type") == "function_call":
            item = event["item"]
            pieces.add_call(event["output_index"], item["call_id"], item["name"], item.get("arguments") or "")
        case "response.function_call_arguments.delta":
            pieces.add_call(event["output_index"], None, None, event["delta"])
        case "response.completed" | "response.incomplete" | "response.failed":
            _read_end_of_response(event["response"], pieces)
        case "error":
            raise StreamedAPIError(event)


def _read_end_of_response(response: Event, pieces: Pieces) -> None:
    if error := response.get("error"):
        raise StreamedAPIError(error)
    if counted := response.get("usage"):
        cached = (counted.get("input_tokens_details") or {}).get("cached_tokens") or 0
        pieces.set_usage(counted.get("input_tokens") or 0, counted.get("output_tokens") or 0, cached)
    pieces.reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status")


class MessageReader:
    """Reads the events of Anthropic's messages; the input is counted at the start, the output at the end."""

    def __init__(self) -> None:
        self._counted: dict[str, int] = {}

    def __call__(self, event: Event, pieces: Pieces) -> None:
        """Read one event."""
        match event.get("type"):
            case "content_block_delta":
                delta = event["delta"]
                if delta.get("type") == "text_delta":
                    pieces.add_text(delta["text"])
                elif delta.get("type") == "input_json_delta":
                    self._add_args(event["index"], delta["partial_json"], pieces)
            case "content_block_start":
                self._start(event["index"], event["content_block"], pieces)
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                pieces.reason = event["delta"].get("stop_reason") or pieces.reason
                self._count(event.get("usage"))
                counted = self._counted
                cached = counted.get("cache_read_input_tokens", 0)
                given = counted.get("input_tokens", 0) + cached + counted.get("cache_creation_input_tokens", 0)
                pieces.set_usage(given, counted.get("output_tokens", 0), cached)

    def _start(self, index: int, block: Event, pieces: Pieces) -> None:
        self._call = index if block.get("type") == "tool_use" else None
        if self._call is not None:
            given = json.dumps(block["input"]) if block.get("input") else ""
            pieces.add_call(index, block["id"], block["name"], given)
        elif block.get("type") == "text" and block.get("text"):
            pieces.add_text(block["text"])

    def _add_args(self, index: int, args: str, pieces: Pieces) -> None:
        if index == self._call:  # and not of a tool that the provider runs itself
            pieces.add_call(index, None, None, args)

    def _count(self, usage: Event | None) -> None:
        self._counted |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def read_contents(event: Event, pieces: Pieces) -> None:
    """Read an event of Gemini's: parts of contents, calls always whole."""
    for candidate in (event.get("candidates") or ())[:1]:
        for part in (candidate.get("content") or {}).get("parts") or ():
            if part.get("text") and not part.get("thought"):
                pieces.add_text(part["text"])
            if call := part.get("functionCall"):
                pieces.add_call(None, call.get("id"), call["name"], json.dumps(call.get("args") or {}))
        reason = (candidate.get("finishReason") or "").lower()
        # The rest would have to be asked for: as good as cut off.
        pieces.reason = reason if reason and reason != "continuation" else pieces.reason
    if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
        pieces.reason = f"blocked: {blocked.lower()}"
    if counted := event.get("usageMetadata"):
        given = (counted.get("promptTokenCount") or 0) + (counted.get("toolUsePromptTokenCount") or 0)
        made = (counted.get("candidatesTokenCount") or 0) + (counted.get("thoughtsTokenCount") or 0)
        pieces.set_usage(given, made, counted.get("cachedContentTokenCount") or 0)
