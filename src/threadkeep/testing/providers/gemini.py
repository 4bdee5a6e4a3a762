"""The rules of Google Gemini's generateContent, for the Gemini API and Vertex AI."""

import math
import re
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
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
    "Gemini",
    {
        "contents": "A request has at least one content.",
        "system": "There is one system instruction, apart from the contents; it is first, and says something.",
        "role": "A role is user or model.",
        "first": "The first content is a user's, and not a function response.",
        "alternate": "User and model take turns; a function call comes right after a user or a function response.",
        "empty": "A content has at least one part, and a text part says something.",
        "text": "Text is valid Unicode without U+0000.",
        "part": "A part is a text, a user's file, a model's function call or a user's function response.",
        "foreign": FOREIGN,
        "file": FILE,
        "signature": "A signature stands with a function call, and is not empty.",
        "responses_only": "A content with function responses has nothing else.",
        "answered": "A content with function calls is followed at once by as many function responses.",
        "orphan": "Function responses follow the content with their function calls.",
        "matching": "Function responses have the names and ids of the calls that they answer.",
        "unique": "No two function calls of a request have the same id.",
        "name": "A function's name has 1 to 64 letters, digits, '_', '.', ':' or '-', the first a letter or '_'.",
        "args": "The arguments of a call, and a response, are objects.",
        "sampling": "temperature is 0 to 2, topP 0 to 1, and there are at most 5 stop sequences.",
        "limit": "maxOutputTokens is at least 1.",
        "last": "The last content is a user's or a function response.",
    },
)
_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_PARTS = {"user": {"text", "inlineData", "functionResponse"}, "model": {"text", "functionCall"}}


def check(request: Request) -> None:
    """Raise ProviderRefusal if Gemini would refuse the request."""
    check_reasoning(RULES, request, "signature")
    check_files(RULES, request)
    check_body(body_of(request))


def body_of(request: Request) -> dict[str, Any]:
    """Return the request as it is sent. Tool messages that follow each other become one content."""
    body: dict[str, Any] = {"contents": []}
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    before: Message | None = None
    for place, message in enumerate(request.messages):
        if message.role is Role.SYSTEM:
            RULES.require(place == 0, "system", f"messages[{place}]")
            body["systemInstruction"] = {"parts": [{"text": message.content}]}
        elif before is not None and before.role is Role.TOOL and message.role is Role.TOOL:
            body["contents"][-1]["parts"] += _parts(message, names)
        else:
            role = "model" if message.role is Role.ASSISTANT else "user"
            body["contents"].append({"role": role, "parts": _parts(message, names)})
        before = message
    if request.tools:
        body["tools"] = [{"functionDeclarations": [{"name": tool.name} for tool in request.tools]}]
    options = renamed(request.options, top_p="topP", max_tokens="maxOutputTokens", stop="stopSequences")
    if effort := options.pop("reasoning_effort", None):
        options["thinkingConfig"] = {"thinkingLevel": effort}
    return body | ({"generationConfig": options} if options else {})


def _parts(message: Message, names: dict[str, str]) -> list[dict[str, Any]]:
    if message.tool_result is not None:
        id = message.tool_result.tool_call_id
        response = {"id": id, "name": names.get(id, "unknown"), "response": {"output": message.content}}
        return [{"functionResponse": response}]
    parts: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for piece in pieces_of(message):
        match piece:
            case str():
                parts.append({"text": piece})
            case Reasoning() if piece.call is not None:
                signature = {"thoughtSignature": (piece.payload or {})["signature"]}
            case ToolCall():
                parts.append({"functionCall": {"id": piece.id, "name": piece.name, "args": piece.args}, **signature})
                signature = {}
            case Attachment():
                parts.append({"inlineData": {"mimeType": piece.media_type}})
    return parts


def check_body(body: dict[str, Any]) -> None:
    """Raise ProviderRefusal if a body breaks a rule."""
    contents = body["contents"]
    for part in body.get("systemInstruction", {}).get("parts", []):
        RULES.require(says_something(part["text"]), "system", "systemInstruction")
    RULES.require(is_plain_text(body), "text", "the request")
    RULES.require(len(contents) > 0, "contents", "the request")
    for declaration in (one for tool in body.get("tools", []) for one in tool["functionDeclarations"]):
        RULES.require(_NAME.fullmatch(declaration["name"]) is not None, "name", "tools")
    for place, content in enumerate(contents):
        _check_content(content, f"contents[{place}]")
    RULES.require(contents[0]["role"] == "user" and not _responses(contents[0]), "first", "contents[0]")
    _check_order(contents)
    options = body.get("generationConfig", {})
    is_sampling = is_between(options.get("temperature"), 0, 2) and is_between(options.get("topP"), 0, 1)
    RULES.require(is_sampling and len(options.get("stopSequences") or ()) <= 5, "sampling", "generationConfig")
    RULES.require(is_between(options.get("maxOutputTokens"), 1, math.inf), "limit", "generationConfig")
    RULES.require(contents[-1]["role"] == "user", "last", "the last content")


def _check_content(content: dict[str, Any], where: str) -> None:
    RULES.require(content["role"] in _PARTS, "role", where)
    RULES.require(len(content["parts"]) > 0, "empty", where)
    for part in content["parts"]:
        kinds = set(part) - {"thoughtSignature"}
        RULES.require(len(kinds) == 1 and kinds <= _PARTS[content["role"]], "part", where)
        is_signed = "functionCall" in part and bool(part.get("thoughtSignature"))
        RULES.require("thoughtSignature" not in part or is_signed, "signature", where)
        RULES.require("text" not in part or says_something(part["text"]), "empty", where)
        function = part.get("functionCall") or part.get("functionResponse")
        if function:
            RULES.require(_NAME.fullmatch(function["name"]) is not None, "name", where)
            RULES.require(isinstance(function.get("args", function.get("response")), dict), "args", where)
    responses = _responses(content)
    RULES.require(not responses or len(responses) == len(content["parts"]), "responses_only", where)


def _check_order(contents: list[dict[str, Any]]) -> None:
    before, calls, seen = "", list[tuple[str, str]](), set[str]()
    for place, content in enumerate(contents):
        where, responses = f"contents[{place}]", _responses(content)
        RULES.require(content["role"] != before, "alternate", where)
        RULES.require(not responses or bool(calls), "orphan", where)
        RULES.require(len(responses) == len(calls), "answered", where)
        RULES.require(sorted(responses) == sorted(calls), "matching", where)
        before, calls = content["role"], _named(content, "functionCall")
        ids = [id for id, _ in calls if id]
        RULES.require(len({*seen, *ids}) == len(seen) + len(ids), "unique", where)
        seen |= set(ids)
    RULES.require(not calls, "answered", "the end")


def _responses(content: dict[str, Any]) -> list[tuple[str, str]]:
    return _named(content, "functionResponse")


def _named(content: dict[str, Any], kind: str) -> list[tuple[str, str]]:
    """Return id and name of all parts of a kind; an id may be missing, then it is empty."""
    return [(part[kind].get("id") or "", part[kind]["name"]) for part in content["parts"] if kind in part]
