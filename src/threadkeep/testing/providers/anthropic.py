"""The rules of Anthropic's Messages."""

import math
import re
from collections.abc import Iterator
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.llm.base import Request
from threadkeep.llm.pieces import Piece, pieces_of
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
    "Anthropic",
    {
        "messages": "A request has at least one message.",
        "system": "There is one system text, apart from the messages; it is first, and says something if it is there.",
        "role": "A role is user or assistant.",
        "first": "The first message is a user's.",
        "alternate": "User and assistant take turns.",
        "empty": "A message has at least one block, and a text block says something.",
        "text": "Text is valid Unicode without U+0000.",
        "block": "A user sends text, images, documents and tool results, an assistant text, thinking and tool uses.",
        "foreign": FOREIGN,
        "file": FILE,
        "thinking": "A block of thinking has a signature, a redacted one has data.",
        "thinking_place": "A message with thinking begins with it, and does not end with it.",
        "results_first": "Tool results stand before the text of their message.",
        "answered": "Each tool use is answered by a tool result in the next message.",
        "orphan": "Each tool result answers a tool use of the message before, and no other result answers it.",
        "id": "The id of a tool use has only letters, digits, '_' and '-'.",
        "unique": "No two tool uses of a request have the same id.",
        "name": "The name of a tool has 1 to 64 letters, digits, '_' or '-'.",
        "input": "The input of a tool use is an object.",
        "tools": "A request with tool uses or results in its messages defines tools.",
        "sampling": "temperature and top_p are 0 to 1; there is no seed; a stop sequence says something.",
        "limit": "max_tokens is at least 1.",
        "last": "The last message is a user's: newer models do not continue an assistant's.",
    },
)
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_ID = re.compile("[a-zA-Z0-9_-]+")
_THINKING = ("thinking", "redacted_thinking")
_BLOCKS = {"user": {"text", "image", "document", "tool_result"}, "assistant": {"text", "tool_use", *_THINKING}}


def check(request: Request) -> None:
    """Raise ProviderRefusal if Anthropic would refuse the request."""
    check_reasoning(RULES, request, "signature", "data")
    check_files(RULES, request)
    check_body(body_of(request))


def body_of(request: Request) -> dict[str, Any]:
    """Return the request as it is sent. Tool results become user messages; those that follow each other are merged."""
    body: dict[str, Any] = {"messages": []}
    for place, message in enumerate(request.messages):
        if message.role is Role.SYSTEM:
            RULES.require(place == 0, "system", f"messages[{place}]")
            body["system"] = message.content
        else:
            _append(body["messages"], message)
    if request.tools:
        body["tools"] = [{"name": tool.name, "input_schema": tool.parameters} for tool in request.tools]
    options = renamed(request.options, stop="stop_sequences")
    if effort := options.pop("reasoning_effort", None):
        options["output_config"] = {"effort": effort}
    return body | options


def _append(messages: list[dict[str, Any]], message: Message) -> None:
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    if role == "user" and messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += _blocks(message)
    else:
        messages.append({"role": role, "content": _blocks(message)})


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.tool_result is not None:
        id = message.tool_result.tool_call_id
        return [{"type": "tool_result", "tool_use_id": id, "content": message.content}]
    return [block for piece in pieces_of(message) for block in _block(piece)]


def _block(piece: Piece) -> Iterator[dict[str, Any]]:
    match piece:
        case str():
            yield {"type": "text", "text": piece}
        case ToolCall():
            yield {"type": "tool_use", "id": piece.id, "name": piece.name, "input": piece.args}
        case Reasoning() if piece.call is None and "data" in (piece.payload or {}):
            yield {"type": "redacted_thinking", **(piece.payload or {})}
        case Reasoning() if piece.call is None:
            yield {"type": "thinking", "thinking": piece.text, **(piece.payload or {})}
        case Attachment():
            yield {"type": "image" if piece.type == "image" else "document"}


def check_body(body: dict[str, Any]) -> None:
    """Raise ProviderRefusal if a body breaks a rule."""
    messages = [{**message, "content": _as_blocks(message["content"])} for message in body["messages"]]
    body = {**body, "messages": messages}
    RULES.require("system" not in body or says_something(body["system"]), "system", "system")
    RULES.require(is_plain_text(body), "text", "the request")
    RULES.require(len(messages) > 0, "messages", "the request")
    RULES.require(messages[0]["role"] == "user", "first", "messages[0]")
    for tool in body.get("tools", []):
        RULES.require(_NAME.fullmatch(tool["name"]) is not None, "name", "tools")
    for place, message in enumerate(messages):
        _check_message(message, f"messages[{place}]")
    _check_order(messages)
    _check_tools(body)
    is_sampling = is_between(body.get("temperature"), 0, 1) and is_between(body.get("top_p"), 0, 1)
    is_stopping = all(map(says_something, body.get("stop_sequences") or ()))
    RULES.require(is_sampling and is_stopping and "seed" not in body, "sampling", "the request")
    RULES.require(is_between(body.get("max_tokens"), 1, math.inf), "limit", "the request")
    RULES.require(messages[-1]["role"] == "user", "last", "the last message")


def _as_blocks(content: Any) -> Any:
    """Return a message's content as blocks; a plain text stands for one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_message(message: dict[str, Any], where: str) -> None:
    blocks = message["content"]
    RULES.require(message["role"] in _BLOCKS, "role", where)
    RULES.require(len(blocks) > 0, "empty", where)
    for block in blocks:
        RULES.require(block["type"] in _BLOCKS[message["role"]], "block", where)
        RULES.require(block["type"] != "text" or says_something(block["text"]), "empty", where)
        if block["type"] == "tool_use":
            RULES.require(_ID.fullmatch(block["id"]) is not None, "id", where)
            RULES.require(_NAME.fullmatch(block["name"]) is not None, "name", where)
            RULES.require(isinstance(block["input"], dict), "input", where)
        RULES.require(block["type"] != "thinking" or bool(block.get("signature")), "thinking", where)
        RULES.require(block["type"] != "redacted_thinking" or bool(block.get("data")), "thinking", where)
        RULES.require("cache_control" not in block or block["type"] not in _THINKING, "thinking", where)
    kinds = [block["type"] for block in blocks]
    is_result = [kind == "tool_result" for kind in kinds]
    RULES.require(is_result == sorted(is_result, reverse=True), "results_first", where)
    has_thinking = any(kind in _THINKING for kind in kinds)
    is_placed = kinds[0] in _THINKING and kinds[-1] not in _THINKING
    RULES.require(not has_thinking or is_placed, "thinking_place", where)


def _check_order(messages: list[dict[str, Any]]) -> None:
    before, uses = "", list[str]()
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        RULES.require(message["role"] != before, "alternate", where)
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        RULES.require(set(results) <= set(uses) and len(set(results)) == len(results), "orphan", where)
        RULES.require(set(uses) <= set(results), "answered", where)
        before, uses = message["role"], [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    RULES.require(not uses, "answered", "the end")


def _check_tools(body: dict[str, Any]) -> None:
    blocks = [block for message in body["messages"] for block in message["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    RULES.require(len(set(uses)) == len(uses), "unique", "the request")
    RULES.require(not uses or bool(body.get("tools")), "tools", "the request")
