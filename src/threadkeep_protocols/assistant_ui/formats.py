"""The formats in which assistant-ui keeps messages: what one of them says, and how an answer of ours looks in each.

`ai-sdk/v5` and `ai-sdk/v6` are UI messages of the AI SDK without their ids; `aui/v0` is assistant-ui's own.
"""

from typing import Any

from threadkeep.conversation.message import Role
from threadkeep.errors import InvalidValue
from threadkeep_protocols.ai_sdk.showing import Json
from threadkeep_protocols.said import text_in

AUI = "aui/v0"
AI_SDK = ("ai-sdk/v5", "ai-sdk/v6")
_ENDS = {"cancelled": "cancelled", "failed": "error", "interrupted": "other"}


def parts_of(content: Json) -> list[Json]:
    """Return the parts of a message in any format."""
    found = content.get("parts", content.get("content"))
    if isinstance(found, str):
        return [{"type": "text", "text": found}]
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def text_of(content: Json) -> str:
    """Return all that a message says."""
    return text_in(parts_of(content))


def role_of(content: Json) -> Role:
    """Return who says it: a person, an assistant or the instructions."""
    role = content.get("role")
    if role not in (Role.USER, Role.ASSISTANT, Role.SYSTEM):
        raise InvalidValue("The `role` of a message is user, assistant or system.")
    return Role(role)


def turn_of(content: Json) -> int | None:
    """Return the turn of ours that a message is the answer of, which our streams say in its metadata."""
    metadata = content.get("metadata")
    for told in (metadata, metadata.get("custom") if isinstance(metadata, dict) else None):
        if isinstance(told, dict) and type(turn := told.get("turn")) is int and 0 < turn < 2**53:
            return turn
    return None


def in_format(message: Json, form: str) -> Json:
    """Return a UI message as the content of another format."""
    content = {name: value for name, value in message.items() if name != "id"}
    if form in AI_SDK:
        return content
    metadata = content.get("metadata") or {}
    told: Json = {
        "role": content["role"],
        "content": [part for each in content["parts"] for part in _aui_part(each)],
        "metadata": {"unstable_annotations": [], "unstable_data": [], "steps": [], "custom": metadata},
    }
    if content["role"] != Role.ASSISTANT:
        return told
    end = _ENDS.get(str(metadata.get("state")))
    status = {"type": "complete", "reason": "stop"} if end is None else {"type": "incomplete", "reason": end}
    return {**told, "status": status}


def _aui_part(part: Json) -> list[Json]:
    """Return a part of a UI message in assistant-ui's own words: none of what marks a step."""
    kind = str(part["type"])
    match kind:
        case "text" | "reasoning":
            return [{"type": kind, "text": part["text"]}]
        case "file" if str(part["mediaType"]).startswith("image/"):
            return [{"type": "image", "image": part["url"]}]
        case "file":
            named = {"filename": part["filename"]} if "filename" in part else {}
            return [{"type": "file", "data": part["url"], "mimeType": part["mediaType"], **named}]
        case "source-url":
            return [_source(part, "url", url=part["url"])]
        case "source-document":
            return [_source(part, "document", mediaType=part["mediaType"])]
        case _ if kind.startswith("tool-"):
            return [_aui_call(part, kind.removeprefix("tool-"))]
        case _ if kind.startswith("data-"):
            return [{"type": "data", "name": kind.removeprefix("data-"), "data": part["data"]}]
        case _:
            return []


def _source(part: Json, kind: str, **more: Any) -> Json:
    return {"type": "source", "sourceType": kind, "id": part["sourceId"], "title": part["title"], **more}


def _aui_call(part: Json, name: str) -> Json:
    told: Json = {"type": "tool-call", "toolCallId": part["toolCallId"], "toolName": name, "args": part["input"]}
    if "approval" in part:
        told["approval"] = part["approval"]
    if part["state"] == "output-error":
        return {**told, "result": part["errorText"], "isError": True}
    return {**told, "result": part["output"]} if "output" in part else told
