"""The rules of OpenAI's Chat Completions, and of the many servers that imitate it."""

import json
import math
import re
from typing import Any

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.testing.providers.rules import (
    Rules,
    check_reasoning,
    is_between,
    is_plain_text,
    renamed,
    says_something,
)

RULES = Rules(
    "OpenAI",
    {
        "messages": "A request has 1 to 2,048 messages.",
        "role": "A role is system, user, assistant or tool.",
        "system": "There is at most one system message, and it is the first.",
        "empty": "A message says something, unless it is an assistant's with tool calls.",
        "text": "Text is valid Unicode without U+0000.",
        "foreign": "Reasoning is never sent here.",
        "calls": "Tool calls, if there are any, are 1 to 128, and only an assistant makes them.",
        "answered": "A message with tool calls is followed at once by one tool message for each of its calls.",
        "orphan": "A tool message follows the message with its call.",
        "id": "The id of a call has 1 to 40 characters.",
        "unique": "No two calls of a request have the same id.",
        "name": "The name of a tool has 1 to 64 letters, digits, '_' or '-'.",
        "arguments": "The arguments of a call are the text of a JSON object.",
        "sampling": "temperature is 0 to 2, top_p 0 to 1, and there are at most 4 stop sequences.",
        "limit": "max_completion_tokens is at least 1.",
        "last": "The last message is a user's or a tool's: an assistant's would be continued, not answered.",
    },
)
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


def check(request: Request) -> None:
    """Raise ProviderRefusal if OpenAI would refuse the request."""
    check_reasoning(RULES, request)
    check_body(body_of(request))


def body_of(request: Request) -> dict[str, Any]:
    """Return the request as it is sent."""
    tools = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}} for tool in request.tools
    ]
    options = renamed(request.options, max_tokens="max_completion_tokens")
    messages = [_wire(message) for message in request.messages]
    return {"messages": messages, **({"tools": tools} if tools else {}), **options}


def _wire(message: Message) -> dict[str, Any]:
    if message.tool_result is not None:
        return {"role": "tool", "content": message.content, "tool_call_id": message.tool_result.tool_call_id}
    wire: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.args)}}
            for call in message.tool_calls
        ]
    return wire


def check_body(body: dict[str, Any]) -> None:
    """Raise ProviderRefusal if a body breaks a rule."""
    messages = body["messages"]
    RULES.require(1 <= len(messages) <= 2048, "messages", "the request")
    for place, message in enumerate(messages):
        _check_message(message, place)
    for tool in body.get("tools", []):
        RULES.require(_is_name(tool["function"]["name"]), "name", "tools")
    is_sampling = is_between(body.get("temperature"), 0, 2) and is_between(body.get("top_p"), 0, 1)
    RULES.require(is_sampling and len(body.get("stop") or ()) <= 4, "sampling", "the request")
    RULES.require(is_between(body.get("max_completion_tokens"), 1, math.inf), "limit", "the request")
    _check_pairs(messages)
    RULES.require(messages[-1]["role"] in ("user", "tool"), "last", "the last message")


def _check_message(message: dict[str, Any], place: int) -> None:
    where, role, calls = f"messages[{place}]", message["role"], message.get("tool_calls")
    RULES.require(role in set(Role), "role", where)
    RULES.require(role != "system" or place == 0, "system", where)
    RULES.require(says_something(message["content"]) or (role == "assistant" and bool(calls)), "empty", where)
    RULES.require(is_plain_text(message), "text", where)
    RULES.require(calls is None or (role == "assistant" and 1 <= len(calls) <= 128), "calls", where)
    for call in calls or []:
        RULES.require(1 <= len(call["id"]) <= 40, "id", where)
        RULES.require(_is_name(call["function"]["name"]), "name", where)
        RULES.require(_is_object(call["function"]["arguments"]), "arguments", where)


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    expected: list[str] = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if message["role"] == "tool":
            RULES.require(message["tool_call_id"] in expected, "orphan", where)
            expected.remove(message["tool_call_id"])
            continue
        RULES.require(not expected, "answered", where)
        expected = [call["id"] for call in message.get("tool_calls") or []]
        RULES.require(len(set(expected)) == len(expected) and not seen & set(expected), "unique", where)
        seen |= set(expected)
    RULES.require(not expected, "answered", "the end")


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
