"""The form of Gemini's contents: parts of a user and of a model, calls always whole, results by the names of tools."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.llm.base import ToolSpec
from threadkeep.llm.pieces import pieces_of
from threadkeep_providers.deltas import DeltaBuffer, Event, Reader
from threadkeep_providers.form import Files, Form, History, Traits, base64_of, dumps, joined, without_bytes

_GEMINI = Traits(1_048_576, frozenset(("image", "audio", "pdf")), 65_536, reasons=True)
_SOUNDS = {"audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav"}


class Contents(Form):
    """Gemini's contents, at its own API; Vertex AI, where tokens of an account have to be renewed, is not."""

    path = "/v1beta/models/{model}:streamGenerateContent?alt=sse"
    known = ((re.compile("gemini-"), _GEMINI),)
    cached_from = 4_096
    options: Mapping[str, str] = {
        "temperature": "temperature",
        "top_p": "topP",
        "max_tokens": "maxOutputTokens",
        "stop": "stopSequences",
        "seed": "seed",
        "reasoning_effort": "thinkingConfig",
    }

    def written(self, message: Message, files: Files, tool: str) -> bytes:
        return ",".join(dumps(part) for part in _parts(message, files, tool)).encode()

    def body(self, model: str, options: dict[str, Any], history: History, tools: bytes) -> bytes:
        fields: dict[str, Any] = {"generationConfig": options} if options else {}
        if effort := options.get("thinkingConfig"):
            options["thinkingConfig"] = {"thinkingLevel": effort}
        if system := "\n\n".join(message.content for message, _ in history if message.role is Role.SYSTEM):
            fields["systemInstruction"] = {"parts": [{"text": system}]}
        declared = b'{"functionDeclarations":[%s]}' % tools if tools else b""
        return joined(fields, tools=declared, contents=b",".join(_in_turns(history)))

    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}

    def reader(self) -> Reader:
        return read_contents


def _in_turns(history: History) -> Iterator[bytes]:
    """Yield contents: the results of tools that follow each other are one."""
    said = ((place, *pair) for place, pair in enumerate(history) if pair[0].role is not Role.SYSTEM)
    for _, group in groupby(said, lambda each: -1 if each[1].role is Role.TOOL else each[0]):
        contents = list(group)
        role = b"model" if contents[0][1].role is Role.ASSISTANT else b"user"
        yield b'{"role":"%s","parts":[%s]}' % (role, b",".join(written for *_, written in contents))


def _parts(message: Message, files: Files, tool: str) -> Iterator[dict[str, Any]]:
    if message.tool_result is not None:
        told = {"error" if message.tool_result.error else "output": message.content}
        yield {"functionResponse": {"id": message.tool_result.tool_call_id, "name": tool, "response": told}}
        return
    signature: dict[str, Any] = {}
    for piece in pieces_of(message):
        match piece:
            case str():
                yield {"text": piece}
            case Reasoning(payload={"signature": str(signed)}, call=str()):
                signature = {"thoughtSignature": signed}
            case ToolCall():
                yield {"functionCall": {"id": piece.id, "name": piece.name, "args": piece.args}, **signature}
                signature = {}
            case Attachment():
                data = files.get(piece.file)
                kind = _SOUNDS.get(piece.media_type, piece.media_type)
                shown = data is not None and {"inlineData": {"mimeType": kind, "data": base64_of(data)}}
                yield shown or {"text": without_bytes(piece)}


def read_contents(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of Gemini's."""
    for candidate in (event.get("candidates") or ())[:1]:
        for part in (candidate.get("content") or {}).get("parts") or ():
            if part.get("text"):
                (buffer.add_reasoning if part.get("thought") else buffer.add_text)(part["text"])
            if call := part.get("functionCall"):
                buffer.add_call(None, call.get("id"), call["name"], json.dumps(call.get("args") or {}))
                if signature := part.get("thoughtSignature"):
                    buffer.add_reasoning("", {"signature": signature}, is_of_call=True)
        reason = (candidate.get("finishReason") or "").lower()
        # The rest would have to be requested: the answer counts as cut off.
        buffer.reason = reason if reason and reason != "continuation" else buffer.reason
    if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
        buffer.reason = f"blocked: {blocked.lower()}"
    if counted := event.get("usageMetadata"):
        given = (counted.get("promptTokenCount") or 0) + (counted.get("toolUsePromptTokenCount") or 0)
        made = (counted.get("candidatesTokenCount") or 0) + (counted.get("thoughtsTokenCount") or 0)
        buffer.set_usage(given, made, counted.get("cachedContentTokenCount") or 0)
