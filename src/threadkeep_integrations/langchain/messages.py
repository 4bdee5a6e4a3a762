"""Our messages as LangChain's and back, and LangChain's chunks of an answer as our deltas.

Roles, text, tool calls and results are converted without loss; reasoning and attachments as LangChain's standard
content blocks. LangChain has no place for the rest of a message (blocks, usage, trace, status), which is left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import tool_call

from threadkeep.conversation.ids import check_id, new_id
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.errors import InvalidId, UnknownRole
from threadkeep.llm.base import Delta
from threadkeep.llm.pieces import pieces_of
from threadkeep_providers.deltas import DeltaBuffer
from threadkeep_providers.form import base64_of, without_bytes

GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where LangChain's class for Gemini looks for the signatures of calls, by their ids."""


def to_langchain(messages: Iterable[Message], files: Mapping[str, bytes] | None = None) -> list[BaseMessage]:
    """Return the messages as LangChain's, with their ids; `files` are the bytes of attachments by their ids. An
    attachment without bytes is described in words."""
    names: dict[str, str] = {}
    converted = []
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        converted.append(_to_langchain(message, names, files or {}))
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


def _to_langchain(message: Message, names: Mapping[str, str], files: Mapping[str, bytes]) -> BaseMessage:
    content = _content(message, files) if message.parts else message.content
    match message.role:
        case Role.SYSTEM:
            return SystemMessage(content=content, id=message.id)
        case Role.USER:
            return HumanMessage(content=content, id=message.id)
        case Role.ASSISTANT:
            calls = [tool_call(id=call.id, name=call.name, args=call.args) for call in message.tool_calls]
            return AIMessage(content=content, tool_calls=calls, id=message.id, **_provider_fields(message, content))
        case Role.TOOL:
            return _to_tool_message(message, content, names)
        case _:
            assert_never(message.role)


Content = str | list[str | dict[str, Any]]


def _content(message: Message, files: Mapping[str, bytes]) -> Content:
    """Return the content of a message with parts: standard blocks in order, or plain text if that is all."""
    blocks: list[str | dict[str, Any]] = []
    is_plain = True
    for piece in pieces_of(message):
        match piece:
            case str():
                blocks.append({"type": "text", "text": piece})
            case ToolCall():
                blocks.append({"type": "tool_call", "id": piece.id, "name": piece.name, "args": piece.args})
            case Reasoning() if block := _reasoning_block(piece):
                is_plain = False
                blocks.append(block)
            case Attachment():
                is_plain = False
                blocks.append(_attachment_block(piece, files.get(piece.file)))
    return message.content if is_plain else blocks


def _reasoning_block(part: Reasoning) -> dict[str, Any] | None:
    """Return reasoning as its provider wants it back, which depends on the payload; None if it does not want it."""
    payload = part.payload or {}
    match payload:
        case {"signature": str(signature)} if part.call is None:
            return {"type": "reasoning", "reasoning": part.text, "extras": {"signature": signature}}
        case {"data": str(data)}:
            return {"type": "non_standard", "value": {"type": "redacted_thinking", "data": data}}
        case {"encrypted_content": str()}:
            return {"type": "reasoning", "summary": [], **payload}
        case _:
            return None


def _attachment_block(part: Attachment, data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {"type": "text", "text": without_bytes(part)}
    # LangChain derives the file extension that OpenAI wants for recordings from the type.
    kind = {"audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav"}.get(part.media_type, part.media_type)
    block = {"type": part.type, "base64": base64_of(data), "mime_type": kind}
    return block | ({"filename": part.name or "file"} if part.type == "file" else {})


def _provider_fields(message: Message, content: Content) -> dict[str, Any]:
    """Return the fields that tell LangChain that the content consists of standard blocks, and the signatures."""
    signed = {
        part.call: part.payload["signature"]
        for part in message.parts
        if isinstance(part, Reasoning) and part.call and part.payload and "signature" in part.payload
    }
    fields: dict[str, Any] = {"additional_kwargs": {GEMINI_SIGNATURES: signed}} if signed else {}
    if isinstance(content, list):
        fields["response_metadata"] = {"output_version": "v1"}
        if any("signature" in str(part.payload) for part in message.parts if isinstance(part, Reasoning)):
            fields["response_metadata"]["model_provider"] = "anthropic"
    return fields


def _to_tool_message(message: Message, content: Content, names: Mapping[str, str]) -> ToolMessage:
    assert message.tool_result is not None  # noqa: S101 - the message's own check
    result = message.tool_result
    return ToolMessage(
        content=content,
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

    def deltas(self, chunk: AIMessage) -> list[Delta]:
        """Return what one chunk says. A class that cannot stream sends its whole answer as one message."""
        buffer = self._buffer
        if isinstance(chunk.content, str) and "reasoning_content" not in chunk.additional_kwargs:
            buffer.add_text(chunk.content)
        else:
            self._take_blocks(chunk)
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

    def end(self, *, is_orderly: bool) -> list[Delta]:
        """Return why the answer ended. Without a reason it was cut off, unless the class is known to give none."""
        return self._buffer.end(is_orderly=is_orderly)

    def _take_blocks(self, chunk: AIMessage) -> None:
        """Take text and reasoning, in LangChain's standard form of whatever the provider sent."""
        blocks: Any = chunk.content_blocks
        for block in blocks:
            match block:
                case {"type": "reasoning"}:
                    signature = block.get("extras", {}).get("signature")
                    payload = {"signature": signature} if signature else None
                    self._buffer.add_reasoning(block.get("reasoning") or "", payload)
                case {"type": "text", "text": str(text)}:
                    self._buffer.add_text(text)

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
