"""The rules of Mistral's chat completions. Ids of calls become such as it takes, as LangChain's class makes them."""

import json
import math
import re
from hashlib import sha256
from typing import Any

from threadkeep.conversation.message import Message
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
    "Mistral",
    {
        "messages": "A request has at least one message.",
        "system": "There is at most one system message, and it is the first.",
        "empty": "A message says something, unless it is an assistant's with tool calls.",
        "either": "An assistant's message has content or tool calls, and not both.",
        "text": "Text is valid Unicode without U+0000.",
        "order": "A user is first or follows an assistant, an assistant follows a user or a tool, a tool a call.",
        "answered": "A message with tool calls is followed at once by one tool message for each of them.",
        "id": "The id of a call has 9 letters or digits, and no two calls of a request have the same.",
        "name": "The name of a tool has 1 to 64 letters, digits, '_' or '-'.",
        "arguments": "The arguments of a call are the text of a JSON object.",
        "foreign": "Reasoning is never sent here.",
        "sampling": "temperature is 0 to 2 and top_p 0 to 1.",
        "limit": "max_tokens is at least 1.",
        "last": "The last message is a user's or a tool's.",
    },
)
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_ID = re.compile("[a-zA-Z0-9]{9}")
_BEFORE: dict[str, set[str | None]] = {
    "system": {None},
    "user": {None, "system", "assistant"},
    "assistant": {"user", "tool"},
    "tool": {"assistant", "tool"},
}


def check(request: Request) -> None:
    """Raise ProviderRefusal if Mistral would refuse the request."""
    check_reasoning(RULES, request)
    check_body(body_of(request))


def body_of(request: Request) -> dict[str, Any]:
    """Return the request as it is sent."""
    tools = [{"type": "function", "function": {"name": tool.name}} for tool in request.tools]
    options = renamed(request.options, seed="random_seed")
    messages = [_wire(message) for message in request.messages]
    return {"messages": messages, **({"tools": tools} if tools else {}), **options}


def _wire(message: Message) -> dict[str, Any]:
    if message.tool_result is not None:
        return {"role": "tool", "content": message.content, "tool_call_id": _id(message.tool_result.tool_call_id)}
    wire: dict[str, Any] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        wire["content"] = ""
        wire["tool_calls"] = [
            {"id": _id(call.id), "function": {"name": call.name, "arguments": json.dumps(call.args)}}
            for call in message.tool_calls
        ]
    return wire


def _id(id: str) -> str:
    return id if _ID.fullmatch(id) else sha256(id.encode()).hexdigest()[:9]


def check_body(body: dict[str, Any]) -> None:
    """Raise ProviderRefusal if a body breaks a rule."""
    messages = body["messages"]
    RULES.require(len(messages) > 0, "messages", "the request")
    RULES.require(is_plain_text(body), "text", "the request")
    for tool in body.get("tools", []):
        RULES.require(_NAME.fullmatch(tool["function"]["name"]) is not None, "name", "tools")
    for place, message in enumerate(messages):
        _check_message(message, f"messages[{place}]")
    _check_order(messages)
    is_sampling = is_between(body.get("temperature"), 0, 2) and is_between(body.get("top_p"), 0, 1)
    RULES.require(is_sampling, "sampling", "the request")
    RULES.require(is_between(body.get("max_tokens"), 1, math.inf), "limit", "the request")
    RULES.require(messages[-1]["role"] in ("user", "tool"), "last", "the last message")


def _check_message(message: dict[str, Any], where: str) -> None:
    calls = message.get("tool_calls") or []
    RULES.require(not calls or not message["content"], "either", where)
    RULES.require(bool(calls) or says_something(message["content"]), "empty", where)
    for call in calls:
        RULES.require(_ID.fullmatch(call["id"]) is not None, "id", where)
        RULES.require(_NAME.fullmatch(call["function"]["name"]) is not None, "name", where)
        RULES.require(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments", where)


def _check_order(messages: list[dict[str, Any]]) -> None:
    before: str | None = None
    seen: set[str] = set()
    waiting: list[str] = []
    for place, message in enumerate(messages):
        where, role = f"messages[{place}]", message["role"]
        RULES.require(role != "system" or place == 0, "system", where)
        RULES.require(before in _BEFORE[role], "order", where)
        if role == "tool":
            RULES.require(message["tool_call_id"] in waiting, "answered", where)
            waiting.remove(message["tool_call_id"])
        else:
            RULES.require(not waiting, "answered", where)
            waiting = [call["id"] for call in message.get("tool_calls") or []]
            RULES.require(len(set(waiting)) == len(waiting) and not seen & set(waiting), "id", where)
            seen |= set(waiting)
        before = role
    RULES.require(not waiting, "answered", "the end")
