"""LangChain's chunks of an answer as our deltas, whichever of LangChain's dialects a provider's class speaks."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage

from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Delta, Stopped, Text, Used
from threadkeep.llm.langchain.messages import text_of


class Chunks:
    """Turns the chunks of one answer into deltas, and remembers what spans them: places of calls, usage, the reason."""

    def __init__(self) -> None:
        self._places: dict[object, int] = {}
        self._ids: list[str | None] = []
        self._usage: UsageMetadata | None = None
        self._reason: str | None = None
        self._half = ""

    def deltas(self, chunk: AIMessage) -> Iterator[Delta]:
        """Yield what one chunk says. A class that cannot stream sends its whole answer as one message."""
        if text := self._whole_text(text_of(chunk.content)):
            yield Text(text)
        if isinstance(chunk, AIMessageChunk):
            for part in chunk.tool_call_chunks:
                index = self._place(part["index"], part["id"], part["name"])
                yield CallPart(index=index, id=part["id"] or None, name=part["name"] or None, args=part["args"] or "")
        else:
            yield from self._whole_calls(chunk)
        if chunk.usage_metadata:
            self._usage = add_usage(self._usage, chunk.usage_metadata)
            yield Used(_usage(self._usage))
        self._reason = _reason(chunk.response_metadata) or self._reason

    def end(self, *, is_orderly: bool) -> Iterator[Stopped]:
        """Yield why the answer ended. Without a reason it was cut off, unless the class is known to give none."""
        reason = self._reason or ("end" if is_orderly else None)
        if reason == "completed":
            reason = "tool_calls" if self._ids else "stop"
        if reason:
            yield Stopped(reason)

    def _whole_text(self, text: str) -> str:
        """Return the text with half characters put together; a half at the end waits for the next chunk."""
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

    def _whole_calls(self, message: AIMessage) -> Iterator[CallPart]:
        for call in message.tool_calls:
            index = self._place(None, call["id"], call["name"])
            yield CallPart(index=index, id=call["id"], name=call["name"], args=json.dumps(call["args"]))
        for broken in message.invalid_tool_calls:
            index = self._place(None, broken["id"], broken["name"] or "unnamed")
            yield CallPart(index=index, id=broken["id"], name=broken["name"], args=broken["args"] or "")


def _usage(counted: UsageMetadata) -> Usage:
    cached = counted.get("input_token_details", {}).get("cache_read") or 0
    return Usage(
        input_tokens=max(0, counted["input_tokens"]),
        output_tokens=max(0, counted["output_tokens"]),
        cached_tokens=max(0, cached),
    )


def _reason(metadata: Mapping[str, Any]) -> str | None:
    """Return the provider's word for why it stopped. The Responses API tells it by status and details."""
    incomplete = metadata.get("incomplete_details")
    if isinstance(incomplete, Mapping) and isinstance(incomplete.get("reason"), str):
        return str(incomplete["reason"])
    for name in ("finish_reason", "stop_reason", "done_reason", "status"):
        reason = metadata.get(name)
        if isinstance(reason, str) and reason and reason != "in_progress":
            return reason.lower()
    return None
