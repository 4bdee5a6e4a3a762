"""Answers for `openai_server`: what providers send, and every way to get it wrong that was seen in the wild."""

import asyncio
import json
from typing import Any

from threadkeep.testing.openai_server import CUT, Played, Step

USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 8}}

_DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """Return one event of a stream."""
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def usage() -> bytes:
    """Return the event that tells the usage."""
    return _event({"choices": [], "usage": USAGE})


def says(*pieces: str, with_usage: bool = True) -> Played:
    """Text, in these pieces."""
    texts = [chunk({"role": "assistant", "content": piece}) for piece in pieces]
    return Played((*texts, chunk({}, "stop"), *([usage()] if with_usage else []), _DONE))


def wants(*calls: tuple[str, str, str]) -> Played:
    """Tool calls, each an id, a name and the text of its arguments, which comes in two pieces."""
    return Played((*_calls(*calls), chunk({}, "tool_calls"), usage(), _DONE))


def fails(status: int, message: str = "played", **headers: str) -> Played:
    """An error before the stream; `Retry_After` is the header Retry-After."""
    body = json.dumps({"error": {"message": message, "type": "played", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Played((body,), status, {"Content-Type": "application/json", **named})


def fails_in_stream(message: str = "played") -> Played:
    """An error as an event, after some text."""
    error = {"error": {"message": message, "type": "server_error", "code": None}}
    return Played((chunk({"content": "Hel"}), b"data: " + json.dumps(error).encode() + b"\n\n"))


def hangs(*pieces: str, until: asyncio.Event | None = None) -> Played:
    """Some text, then nothing until the event is set (or for ever)."""
    steps: list[Step] = [chunk({"content": piece}) for piece in pieces]
    return Played((*steps, until or asyncio.Event(), chunk({}, "stop"), _DONE))


def cut_in_text() -> Played:
    """The connection breaks in the middle of an event."""
    return Played((chunk({"content": "Hello"}), chunk({"content": " wor"})[:-20], CUT))


def cut_in_arguments() -> Played:
    """The connection breaks in the middle of a tool call's arguments."""
    return Played((_calls(("call_1", "get_budget", '{"cost_center": "CC-1001"}'))[0], CUT))


def ends_in_arguments() -> Played:
    """The stream ends in an orderly way in the middle of a tool call's arguments, without a reason."""
    return Played((_calls(("call_1", "get_budget", '{"cost_center": "CC-1001"}'))[0],))


def two_calls_one_id() -> Played:
    """Two tool calls that share an id."""
    return wants(("call_1", "get_budget", '{"cost_center": "A"}'), ("call_1", "get_budget", '{"cost_center": "B"}'))


def invalid_arguments() -> Played:
    """A tool call whose arguments are no JSON."""
    return wants(("call_1", "get_budget", '{"cost_center": CC-1001'))


def empty() -> Played:
    """An answer that says nothing and stops."""
    return Played((chunk({"role": "assistant", "content": ""}), chunk({}, "stop"), usage(), _DONE))


def nothing() -> Played:
    """A stream without a single event."""
    return Played(())


def huge(megabytes: int = 10) -> Played:
    """A lot of text, in pieces of 64 KiB."""
    return says(*["x" * 65_536] * (megabytes * 16))


def garbage() -> Played:
    """An event that is no JSON, not even text."""
    return Played((chunk({"content": "Hello"}), b"data: \xff\xfe{not json\n\n", chunk({}, "stop"), _DONE))


def responds(*pieces: str) -> Played:
    """Text in the form of the Responses API, which newer models need for tools."""
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    response = {"id": "resp_1", "object": "response", "created_at": 0, "model": "played", "output": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    counts = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}
    whole = {**item, "status": "completed", "content": [text]}
    finished = {
        **response,
        "status": "completed",
        "output": [whole],
        "usage": {**counts, "input_tokens_details": {"cached_tokens": 8}},
    }
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": {**text, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": finished},
    ]
    return Played(tuple(_typed({**event, "sequence_number": number}) for number, event in enumerate(events)))


def _calls(*calls: tuple[str, str, str]) -> list[bytes]:
    """Return the events of tool calls: for each the head with half of its arguments, then the other half."""
    events = []
    for index, (id, name, args) in enumerate(calls):
        half = len(args) // 2
        head = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": args[:half]}}
        rest = {"index": index, "function": {"arguments": args[half:]}}
        events += [chunk({"tool_calls": [head]}), chunk({"tool_calls": [rest]})]
    return events


def _event(body: dict[str, Any]) -> bytes:
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "played", **body}
    return f"data: {json.dumps(whole)}\n\n".encode()


def _typed(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
