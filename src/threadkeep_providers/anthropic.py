"""The form of Anthropic's messages: what a user says and what tools return are blocks of one message."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import ToolSpec
from threadkeep.llm.pieces import Piece, pieces_of
from threadkeep_providers.deltas import DeltaBuffer, Event, Reader
from threadkeep_providers.form import Files, Form, History, Traits, base64_of, dumps, joined, without_bytes

_SEES = frozenset(("image", "pdf", "tool image", "tool pdf"))
_KNOWN = (
    (re.compile(r"claude-\w+-4-5"), Traits(200_000, _SEES, 64_000)),
    (re.compile(r"claude-\w+-4-6"), Traits(1_000_000, _SEES, 128_000)),
    # From here on models decide themselves how long to think, and take no sampling options.
    (re.compile(r"claude-\w+-(4-[7-9]|[5-9])"), Traits(1_000_000, _SEES, 128_000, reasons=True)),
    (re.compile(r"claude-"), Traits(200_000, _SEES, 32_000)),
)
_KEPT = b',"cache_control":{"type":"ephemeral"}}'


class Messages(Form):
    """Anthropic's messages."""

    path = "/v1/messages"
    known = _KNOWN
    cached_from = 4_096
    options: Mapping[str, str] = {
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_tokens",
        "stop": "stop_sequences",
        "reasoning_effort": "output_config",
    }

    def written(self, message: Message, files: Files, tool: str) -> bytes:
        return ",".join(dumps(block) for block in _blocks(message, files)).encode()

    def body(self, model: str, options: dict[str, Any], history: History, tools: bytes) -> bytes:
        traits = self.traits(model)
        fields: dict[str, Any] = {"model": model, "stream": True, "max_tokens": traits.max_output, **options}
        if traits.reasons:
            for name in ("temperature", "top_p"):
                if fields.get(name, 1) != 1:
                    raise ModelRefused(f"{model} takes no option {name}.")
        if effort := fields.get("output_config"):
            fields["output_config"] = {"effort": effort}
            if traits.reasons:
                fields["thinking"] = {"type": "adaptive", "display": "summarized"}
        if system := "\n\n".join(message.content for message, _ in history if message.role is Role.SYSTEM):
            fields["system"] = system
        return joined(fields, tools=tools, messages=b",".join(_in_turns(history)))

    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}

    def reader(self) -> Reader:
        return AnthropicReader()


def _in_turns(history: History) -> Iterator[bytes]:
    """Yield messages of user and assistant in turns; results of tools are a user's.

    Only what is marked is kept for the next request: everything up to the newest answer, or to the newest call.
    """
    said = [pair for pair in history if pair[0].role is not Role.SYSTEM]
    answers = (message for message, written in reversed(said) if message.role is Role.ASSISTANT and written)
    newest = next(answers, None)
    for is_answer, pairs in groupby(said, lambda pair: pair[0].role is Role.ASSISTANT):
        blocks = b",".join(
            written[:-1] + _KEPT if message is newest else written for message, written in pairs if written
        )
        yield b'{"role":"%s","content":[%s]}' % (b"assistant" if is_answer else b"user", blocks)


def _blocks(message: Message, files: Files) -> Iterator[dict[str, Any]]:
    result = message.tool_result
    blocks = (block for piece in pieces_of(message) for block in _block(piece, files))
    if result is None:
        yield from blocks
    else:
        content = list(blocks) if message.parts else message.content
        id, has_failed = result.tool_call_id, result.error is not None
        yield {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": has_failed}


def _block(piece: Piece, files: Files) -> Iterator[dict[str, Any]]:
    match piece:
        case str():
            yield {"type": "text", "text": piece}
        case ToolCall():
            yield {"type": "tool_use", "id": piece.id, "name": piece.name, "input": piece.args}
        case Reasoning(payload={"signature": str(signature)}, call=None):
            yield {"type": "thinking", "thinking": piece.text, "signature": signature}
        case Reasoning(payload={"data": str(data)}):
            yield {"type": "redacted_thinking", "data": data}
        case Attachment():
            shown = files.get(piece.file)
            if shown is None or piece.type == "audio":
                yield {"type": "text", "text": without_bytes(piece)}
            else:
                source = {"type": "base64", "media_type": piece.media_type, "data": base64_of(shown)}
                yield {"type": "image" if piece.type == "image" else "document", "source": source}


class AnthropicReader:
    """Reads the events of Anthropic's messages; the input is counted at the start, the output at the end."""

    def __init__(self) -> None:
        self._counted: dict[str, int] = {}
        self._call: int | None = None

    def __call__(self, event: Event, buffer: DeltaBuffer) -> None:
        match event.get("type"):
            case "content_block_delta":
                self._read_delta(event["index"], event["delta"], buffer)
            case "content_block_start":
                self._start(event["index"], event["content_block"], buffer)
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                buffer.reason = event["delta"].get("stop_reason") or buffer.reason
                self._count(event.get("usage"))
                counted = self._counted
                cached = counted.get("cache_read_input_tokens", 0)
                given = counted.get("input_tokens", 0) + cached + counted.get("cache_creation_input_tokens", 0)
                buffer.set_usage(given, counted.get("output_tokens", 0), cached)

    def _read_delta(self, index: int, delta: Event, buffer: DeltaBuffer) -> None:
        match delta.get("type"):
            case "text_delta":
                buffer.add_text(delta["text"])
            case "thinking_delta":
                buffer.add_reasoning(delta["thinking"])
            case "signature_delta":
                buffer.add_reasoning("", {"signature": delta["signature"]})
            case "input_json_delta" if index == self._call:  # not the arguments of a tool that the provider runs
                buffer.add_call(index, None, None, delta["partial_json"])

    def _start(self, index: int, block: Event, buffer: DeltaBuffer) -> None:
        self._call = index if block.get("type") == "tool_use" else None
        if self._call is not None:
            given = json.dumps(block["input"]) if block.get("input") else ""
            buffer.add_call(index, block["id"], block["name"], given)
        elif block.get("type") == "text" and block.get("text"):
            buffer.add_text(block["text"])
        elif block.get("type") == "redacted_thinking":
            buffer.add_reasoning("", {"data": block["data"]})

    def _count(self, usage: Event | None) -> None:
        self._counted |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}
