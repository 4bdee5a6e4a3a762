"""Our messages as LangChain's and back, and LangChain's chunks of an answer as our deltas.

Roles, text, tool calls and results come through without a loss. LangChain has no place for the rest of a message
(blocks, usage, trace, status); it stays in the log.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import tool_call

from threadkeep.conversation.ids import check_id, new_id
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import InvalidId, UnknownRole
from threadkeep.llm.base import Delta, Stopped
from threadkeep.llm.langchain.wire import DeltaBuffer


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """Return the messages as LangChain's, with their ids."""
    names: dict[str, str] = {}
    converted = []
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        converted.append(_to_langchain(message, names))
    return converted


def from_langchain(messages: Iterable[BaseMessage]) -> tuple[Message, ...]:
    """Return LangChain's messages as ours. A call that LangChain could not parse is left out."""
    return tuple(_from_langchain(message) for message in messages)


def text_of(content: str | Sequence[str | dict[str, Any]]) -> str:
    """Return the text of a content that may be a list of parts; parts of other kinds have none."""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else _text_of_part(part) for part in content)


def _text_of_part(part: dict[str, Any]) -> str:
    text = part.get("text") if part.get("type", "text") in ("text", "text_delta", "output_text") else None
    return text if isinstance(text, str) else ""


def _to_langchain(message: Message, names: Mapping[str, str]) -> BaseMessage:
    match message.role:
        case Role.SYSTEM:
            return SystemMessage(content=message.content, id=message.id)
        case Role.USER:
            return HumanMessage(content=message.content, id=message.id)
        case Role.ASSISTANT:
            calls = [tool_call(id=call.id, name=call.name, args=call.args) for call in message.tool_calls]
            return AIMessage(content=message.content, tool_calls=calls, id=message.id)
        case Role.TOOL:
            return _to_tool_message(message, names)
        case _:
            assert_never(message.role)


def _to_tool_message(message: Message, names: Mapping[str, str]) -> ToolMessage:
    assert message.tool_result is not None  # noqa: S101 - the message's own check
    result = message.tool_result
    return ToolMessage(
        content=message.content,
        tool_call_id=result.tool_call_id,
        name=names.get(result.tool_call_id),
        status="error" if result.error else "success",
        artifact=result.model_dump(exclude={"tool_call_id"}, exclude_none=True) or None,
        id=message.id,
    )


def _from_langchain(message: BaseMessage) -> Message:
    fields: dict[str, Any] = {"content": text_of(message.content), "id": _usable_id(message.id)}
    match message:
        case SystemMessage():
            return Message(role=Role.SYSTEM, **fields)
        case HumanMessage():
            return Message(role=Role.USER, **fields)
        case AIMessage():
            calls = tuple(
                ToolCall(id=call["id"] or f"call_{index}", name=call["name"], args=call["args"])
                for index, call in enumerate(message.tool_calls)
            )
            return Message(role=Role.ASSISTANT, tool_calls=calls, **fields)
        case ToolMessage():
            return Message(role=Role.TOOL, tool_result=_from_tool_message(message), **fields)
        case _:
            raise UnknownRole


def _usable_id(id: str | None) -> str:
    """Return an id of LangChain's if it can be one of ours."""
    try:
        return check_id(id)
    except InvalidId:
        return new_id()


def _from_tool_message(message: ToolMessage) -> ToolResult:
    known = message.artifact if isinstance(message.artifact, dict) else {}
    error = known.get("error") or (text_of(message.content) or "failed" if message.status == "error" else None)
    duration = known.get("duration_ms")
    return ToolResult(
        tool_call_id=message.tool_call_id,
        error=error if isinstance(error, str) else None,
        duration_ms=duration if isinstance(duration, int) else None,
    )


class ChunkReader:
    """Turns the chunks of one answer into deltas."""

    def __init__(self) -> None:
        self._buffer = DeltaBuffer()
        self._usage: UsageMetadata | None = None

    def deltas(self, chunk: AIMessage) -> Iterator[Delta]:
        """Yield what one chunk says. A class that cannot stream sends its whole answer as one message."""
        buffer = self._buffer
        buffer.add_text(text_of(chunk.content))
        if isinstance(chunk, AIMessageChunk):
            for part in chunk.tool_call_chunks:
                buffer.add_call(part["index"], part["id"], part["name"], part["args"] or "")
        else:
            self._take_whole_calls(chunk)
        if chunk.usage_metadata:
            self._usage = counted = add_usage(self._usage, chunk.usage_metadata)
            cached = counted.get("input_token_details", {}).get("cache_read") or 0
            buffer.set_usage(counted["input_tokens"], counted["output_tokens"], cached)
        buffer.reason = _stop_reason(chunk.response_metadata) or buffer.reason
        return buffer.drain()

    def end(self, *, is_orderly: bool) -> Iterator[Stopped]:
        """Yield why the answer ended. Without a reason it was cut off, unless the class is known to give none."""
        return self._buffer.end(is_orderly=is_orderly)

    def _take_whole_calls(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            self._buffer.add_call(None, call["id"], call["name"], json.dumps(call["args"]))
        for broken in message.invalid_tool_calls:
            self._buffer.add_call(None, broken["id"], broken["name"] or "unnamed", broken["args"] or "")


def _stop_reason(metadata: Mapping[str, Any]) -> str | None:
    """Return the provider's word for why it stopped. The Responses API tells it by status and details."""
    incomplete = metadata.get("incomplete_details")
    if isinstance(incomplete, Mapping) and isinstance(incomplete.get("reason"), str):
        return str(incomplete["reason"])
    for name in ("finish_reason", "stop_reason", "done_reason", "status"):
        reason = metadata.get(name)
        if isinstance(reason, str) and reason and reason != "in_progress":
            return reason.lower()
    return None
