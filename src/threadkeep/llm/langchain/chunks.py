"""LangChain's chunks of an answer as our deltas, whichever of LangChain's dialects a provider's class speaks."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage

from threadkeep.llm.base import Delta, Stopped
from threadkeep.llm.langchain.messages import text_of
from threadkeep.llm.langchain.pieces import Pieces


class Chunks:
    """Turns the chunks of one answer into deltas."""

    def __init__(self) -> None:
        self._pieces = Pieces()
        self._usage: UsageMetadata | None = None

    def deltas(self, chunk: AIMessage) -> Iterator[Delta]:
        """Yield what one chunk says. A class that cannot stream sends its whole answer as one message."""
        pieces = self._pieces
        pieces.add_text(text_of(chunk.content))
        if isinstance(chunk, AIMessageChunk):
            for part in chunk.tool_call_chunks:
                pieces.add_call(part["index"], part["id"], part["name"], part["args"] or "")
        else:
            self._take_whole_calls(chunk)
        if chunk.usage_metadata:
            self._usage = counted = add_usage(self._usage, chunk.usage_metadata)
            cached = counted.get("input_token_details", {}).get("cache_read") or 0
            pieces.set_usage(counted["input_tokens"], counted["output_tokens"], cached)
        pieces.reason = _reason(chunk.response_metadata) or pieces.reason
        return pieces.taken()

    def end(self, *, is_orderly: bool) -> Iterator[Stopped]:
        """Yield why the answer ended. Without a reason it was cut off, unless the class is known to give none."""
        return self._pieces.end(is_orderly=is_orderly)

    def _take_whole_calls(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            self._pieces.add_call(None, call["id"], call["name"], json.dumps(call["args"]))
        for broken in message.invalid_tool_calls:
            self._pieces.add_call(None, broken["id"], broken["name"] or "unnamed", broken["args"] or "")


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
