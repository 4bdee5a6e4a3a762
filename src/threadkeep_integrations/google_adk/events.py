"""The events of Google's Agent Development Kit, as JSON, and our messages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.tools.outcome import canonical
from threadkeep_integrations.records import Form, text_with_files, written_at

Fields = dict[str, Any]
USER = "user"
_MOST_ID, _MOST_NAME = 255, 64


def with_names(events: Sequence[Fields]) -> list[Fields]:
    """Name the tools of results that somebody else stored: the kit sends results by name."""
    names = {call.get("id"): call.get("name") for event in events for call in _all(event, "function_call")}
    for event in events:
        for result in _all(event, "function_response"):
            result["name"] = result.get("name") or names.get(result.get("id")) or "unknown"
    return list(events)


def _said(events: Sequence[Fields]) -> list[Message]:
    return [message for event in events for message in _messages(event)]


def _messages(event: Fields) -> Iterator[Message]:
    results = list(_all(event, "function_response"))
    for result in results:
        response = result.get("response")
        error = response.get("error") if isinstance(response, dict) else None
        told = ToolResult(tool_call_id=_id(result), error=str(error) if error else None)
        yield Message(role=Role.TOOL, content=_result_text(response), tool_result=told)
    parts = [part for part in _parts(event) if isinstance(part.get("text"), str)]
    text = "\n\n".join(part["text"] for part in parts if part["text"] and not part.get("thought"))
    calls = tuple(_call(call) for call in _all(event, "function_call"))
    by_model = (event.get("content") or {}).get("role") == "model" or calls
    if event.get("author") == USER and not by_model:
        if text or not results:
            yield Message(role=Role.USER, content=text)
        return
    thoughts = "\n\n".join(part["text"] for part in parts if part["text"] and part.get("thought"))
    if text or thoughts or calls or not results:
        yield Message(
            role=Role.ASSISTANT,
            content=text,
            parts=(Reasoning(text=thoughts),) if thoughts else (),
            tool_calls=calls,
            usage=_usage(event.get("usage_metadata")),
            model=event.get("model_version"),
        )


def _plainest(message: Message) -> list[Fields]:
    """Return a message that was not written by the kit as an event."""
    result = message.tool_result
    text = text_with_files(message.content, message.parts)
    parts: list[Fields] = [{"text": text}] if text and result is None else []
    parts += [{"function_call": {"id": call.id, "name": call.name, "args": call.args}} for call in message.tool_calls]
    if result is not None:
        told = {"error": message.content or result.error} if result.error else {"result": message.content}
        parts.append({"function_response": {"id": result.tool_call_id, "name": "", "response": told}})
    if not parts:
        return []
    by_user = message.role is Role.USER
    content = {"role": "model" if message.role is Role.ASSISTANT else USER, "parts": parts}
    author = USER if by_user else message.role.value
    at = written_at(message).timestamp()
    return [{"id": message.id, "author": author, "invocation_id": message.id, "timestamp": at, "content": content}]


def _parts(event: Fields) -> list[Fields]:
    return list((event.get("content") or {}).get("parts") or [])


def _all(event: Fields, kind: str) -> Iterable[Fields]:
    return (part[kind] for part in _parts(event) if isinstance(part.get(kind), dict))


def _id(of: Fields) -> str:
    return str(of.get("id") or of.get("name") or "unknown")[:_MOST_ID]


def _call(call: Fields) -> ToolCall:
    args = call.get("args")
    name = str(call.get("name") or "unnamed")[:_MOST_NAME]
    return ToolCall(id=_id(call), name=name, args=args if isinstance(args, dict) else {})


def _result_text(response: Any) -> str:
    told = response.get("result", response) if isinstance(response, dict) and len(response) == 1 else response
    return told if isinstance(told, str) else canonical(told)


def _usage(counted: Any) -> Usage | None:
    if not isinstance(counted, dict):
        return None
    spoken = (counted.get("candidates_token_count") or 0) + (counted.get("thoughts_token_count") or 0)
    return Usage(
        input_tokens=counted.get("prompt_token_count") or 0,
        output_tokens=spoken,
        cached_tokens=counted.get("cached_content_token_count") or 0,
    )


FORM = Form("google-adk", _said, _plainest)
