"""Requests and responses of Pydantic AI, as JSON, and our messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.tools.outcome import canonical
from threadkeep_integrations.records import text_with_files, written_at

Fields = Mapping[str, Any]
BETWEEN = "\n\n"
"""What stands between two texts of one response."""
_MOST_ID, _MOST_NAME = 255, 64


def said(items: Sequence[Fields]) -> list[Message]:
    """Return what requests and responses say."""
    return [message for item in items for message in _messages(item)]


def plainest(message: Message) -> list[dict[str, Any]]:
    """Return a message that was not written by Pydantic AI as a request or a response."""
    at = written_at(message).isoformat()
    text = text_with_files(message.content, message.parts)
    match message.role:
        case Role.ASSISTANT:
            parts: list[dict[str, Any]] = [{"part_kind": "text", "content": text}] if text else []
            parts += [_plain_call(call) for call in message.tool_calls]
            return [{"kind": "response", "parts": parts, "timestamp": at}] if parts else []
        case Role.TOOL:
            id, failed = "", False
            if message.tool_result is not None:
                id, failed = message.tool_result.tool_call_id, message.tool_result.error is not None
            told = {"outcome": "failed" if failed else "success", "content": message.content}
            part = {"part_kind": "tool-return", "tool_name": "unknown", "tool_call_id": id, **told}
        case role:
            part = {"part_kind": "system-prompt" if role is Role.SYSTEM else "user-prompt", "content": text}
    return [{"kind": "request", "parts": [{**part, "timestamp": at}], "timestamp": at}]


def with_names(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Name the tools of results that somebody else stored."""
    parts = [part for item in items for part in item["parts"]]
    names = {part["tool_call_id"]: part["tool_name"] for part in parts if part["part_kind"] == "tool-call"}
    for part in parts:
        if part["part_kind"] == "tool-return":
            part["tool_name"] = names.get(part["tool_call_id"], part["tool_name"])
    return list(items)


def _plain_call(call: ToolCall) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": call.name, "args": call.args, "tool_call_id": call.id}


def _messages(item: Fields) -> Iterator[Message]:
    if item["kind"] == "response":
        yield _response(item)
        return
    found = [message for part in item["parts"] for message in _of_request(part)]
    yield from found or [Message(role=Role.ASSISTANT)]


def _of_request(part: Fields) -> Iterator[Message]:
    kind, content = part["part_kind"], part.get("content")
    if kind == "system-prompt":
        yield Message(role=Role.SYSTEM, content=_text(content))
    elif kind == "user-prompt":
        yield Message(role=Role.USER, content=_text(content))
    elif kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
        has_failed = kind != "tool-return" or part.get("outcome", "success") != "success"
        text = content if isinstance(content, str) else canonical(content)
        id = str(part.get("tool_call_id"))[:_MOST_ID] or "unknown"
        result = ToolResult(tool_call_id=id, error=(text or "failed") if has_failed else None)
        yield Message(role=Role.TOOL, content=text, tool_result=result)


def _response(item: Fields) -> Message:
    parts = item["parts"]
    texts = [part["content"] for part in parts if part["part_kind"] == "text" and part.get("content")]
    thoughts = [part["content"] for part in parts if part["part_kind"] == "thinking" and part.get("content")]
    return Message(
        role=Role.ASSISTANT,
        content=BETWEEN.join(texts),
        parts=(Reasoning(text=BETWEEN.join(thoughts)),) if thoughts else (),
        tool_calls=tuple(_call(part) for part in parts if part["part_kind"] == "tool-call"),
        usage=_usage(item.get("usage")),
        model=item.get("model_name"),
    )


def _call(part: Fields) -> ToolCall:
    args = part.get("args")
    if isinstance(args, str):
        try:
            args = json.loads(args or "{}", parse_constant=str)
        except ValueError:
            args = {"input": args}
    name, id = str(part.get("tool_name"))[:_MOST_NAME], str(part.get("tool_call_id"))[:_MOST_ID]
    fields = {} if args is None else args if isinstance(args, dict) else {"input": args}
    return ToolCall(id=id or "unknown", name=name or "unnamed", args=fields)


def _usage(counted: Any) -> Usage | None:
    if not isinstance(counted, dict) or not (counted.get("input_tokens") or counted.get("output_tokens")):
        return None
    return Usage(
        input_tokens=counted.get("input_tokens") or 0,
        output_tokens=counted.get("output_tokens") or 0,
        cached_tokens=counted.get("cache_read_tokens") or 0,
    )


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return BETWEEN.join(
        each
        if isinstance(each, str)
        else str(each.get("content") or f"[{each.get('kind', 'data')}]")[:1000]
        if each.get("kind") in ("text-content", "structured-content")
        else f"[{each.get('kind', 'data')}]"
        for each in content
        if isinstance(each, str | dict)
    )
