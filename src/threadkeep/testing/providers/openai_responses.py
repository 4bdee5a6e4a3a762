"""The rules of OpenAI's Responses, as it is used here: nothing is kept there, so reasoning is sent back encrypted."""

import json
import math
import re
from typing import Any

from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.llm.base import Request
from threadkeep.llm.pieces import pieces_of
from threadkeep.testing.providers.rules import (
    FILE,
    FOREIGN,
    Rules,
    check_files,
    check_reasoning,
    is_between,
    is_plain_text,
    renamed,
    says_something,
)

RULES = Rules(
    "OpenAI Responses",
    {
        "input": "A request has at least one item.",
        "item": "An item is a message, a function call, its output or reasoning.",
        "role": "The role of a message is system, user or assistant.",
        "system": "There is at most one system message, and it is the first.",
        "empty": "A message says something or shows something.",
        "text": "Text is valid Unicode without U+0000.",
        "answered": "Each function call has exactly one output, before anybody speaks again.",
        "orphan": "An output follows the function call that it answers.",
        "id": "The id of a call has 1 to 64 characters, and no two calls have the same.",
        "name": "The name of a function has 1 to 64 letters, digits, '_' or '-'.",
        "arguments": "The arguments of a call are the text of a JSON object.",
        "foreign": FOREIGN,
        "file": FILE,
        "reasoning": "An item of reasoning has a list of summaries, and its encrypted content: nothing is kept there.",
        "following": "An item of reasoning is followed at once by what the model said or called after it.",
        "sampling": "temperature is 0 to 2, top_p 0 to 1; there are no stop sequences and there is no seed.",
        "limit": "max_output_tokens is at least 16.",
        "last": "The last item is a user's message or the output of a call.",
    },
)
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


def check(request: Request) -> None:
    """Raise ProviderRefusal if OpenAI would refuse the request."""
    check_reasoning(RULES, request, "encrypted_content")
    check_files(RULES, request)
    check_body(body_of(request))


def body_of(request: Request) -> dict[str, Any]:
    """Return the request as it is sent."""
    options = renamed(request.options, max_tokens="max_output_tokens")
    # Refused by us before anything is sent, or dropped by LangChain's class.
    for name in ("stop", "seed", "reasoning_effort"):
        options.pop(name, None)
    if "max_output_tokens" in options:
        options["max_output_tokens"] = max(16, options["max_output_tokens"])
    tools = [{"type": "function", "name": tool.name, "parameters": tool.parameters} for tool in request.tools]
    items = [item for message in request.messages for item in _items(message)]
    return {"input": items, "store": False, **({"tools": tools} if tools else {}), **options}


def _items(message: Message) -> list[dict[str, Any]]:
    if message.tool_result is not None:
        return [
            {"type": "function_call_output", "call_id": message.tool_result.tool_call_id, "output": message.content}
        ]
    items: list[dict[str, Any]] = []
    for piece in pieces_of(message):
        match piece:
            case str():
                _say(items, message, {"type": "text", "text": piece})
            case Attachment():
                _say(items, message, {"type": piece.type})
            case Reasoning():
                items.append({"type": "reasoning", "summary": [], **(piece.payload or {})})
            case ToolCall():
                call = {"call_id": piece.id, "name": piece.name, "arguments": json.dumps(piece.args)}
                items.append({"type": "function_call", **call})
    return items


def _say(items: list[dict[str, Any]], message: Message, content: dict[str, Any]) -> None:
    if not items or items[-1]["type"] != "message":
        items.append({"type": "message", "role": str(message.role), "content": []})
    items[-1]["content"].append(content)


def check_body(body: dict[str, Any]) -> None:
    """Raise ProviderRefusal if a body breaks a rule."""
    items = body["input"]
    RULES.require(len(items) > 0, "input", "the request")
    RULES.require(is_plain_text(body), "text", "the request")
    for tool in body.get("tools", []):
        RULES.require(_NAME.fullmatch(tool["name"]) is not None, "name", "tools")
    for place, item in enumerate(items):
        _check_item(item, place, items[place + 1] if place + 1 < len(items) else None)
    _check_pairs(items)
    is_sampling = is_between(body.get("temperature"), 0, 2) and is_between(body.get("top_p"), 0, 1)
    RULES.require(is_sampling and not {"stop", "seed"} & body.keys(), "sampling", "the request")
    RULES.require(is_between(body.get("max_output_tokens"), 16, math.inf), "limit", "the request")
    last = items[-1]
    RULES.require(last.get("role") == "user" or last["type"] == "function_call_output", "last", "the last item")


def _check_item(item: dict[str, Any], place: int, following: dict[str, Any] | None) -> None:
    where = f"input[{place}]"
    match item["type"]:
        case "message":
            RULES.require(item["role"] in ("system", "user", "assistant"), "role", where)
            RULES.require(item["role"] != "system" or place == 0, "system", where)
            shown = [content["type"] != "text" or says_something(content["text"]) for content in item["content"]]
            RULES.require(bool(shown) and all(shown), "empty", where)
        case "function_call":
            RULES.require(_NAME.fullmatch(item["name"]) is not None, "name", where)
            RULES.require(isinstance(json.loads(item["arguments"]), dict), "arguments", where)
        case "reasoning":
            is_whole = isinstance(item.get("summary"), list) and bool(item.get("encrypted_content"))
            RULES.require(is_whole, "reasoning", where)
            said = following is not None and (
                following["type"] in ("reasoning", "function_call") or following.get("role") == "assistant"
            )
            RULES.require(said, "following", where)
        case kind:
            RULES.require(kind == "function_call_output", "item", where)


def _check_pairs(items: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    waiting: set[str] = set()
    for place, item in enumerate(items):
        where = f"input[{place}]"
        if item["type"] == "function_call":
            RULES.require(1 <= len(item["call_id"]) <= 64 and item["call_id"] not in seen, "id", where)
            seen.add(item["call_id"])
            waiting.add(item["call_id"])
        elif item["type"] == "function_call_output":
            RULES.require(item["call_id"] in waiting, "orphan", where)
            waiting.remove(item["call_id"])
        elif item.get("role") in ("user", "system"):
            RULES.require(not waiting, "answered", where)
    RULES.require(not waiting, "answered", "the end")
