"""OpenAI's two forms: chat completions, which many servers speak, and the Responses API of OpenAI itself.

Nothing is stored at OpenAI, because the log is ours: so reasoning comes back encrypted, and is sent again.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.llm.base import ToolSpec
from threadkeep.llm.pieces import pieces_of
from threadkeep_providers.deltas import DeltaBuffer, Event, Reader
from threadkeep_providers.form import Files, Form, History, Traits, base64_of, dumps, joined, without_bytes
from threadkeep_providers.vendor_errors import ProviderError

_SEES = frozenset(("image", "pdf", "tool image", "tool pdf"))
_KNOWN = (
    (re.compile(r"gpt-3\.5"), Traits(16_385)),
    (re.compile(r"gpt-4\.1"), Traits(1_047_576, _SEES)),
    (re.compile(r"gpt-4(o|-turbo)"), Traits(128_000, _SEES)),
    (re.compile(r"gpt-4"), Traits(8_192)),
    (re.compile(r"gpt-5[\d.]*-chat"), Traits(272_000, _SEES)),
    (re.compile(r"gpt-5(\.[12])?(-|$)"), Traits(272_000, _SEES, reasons=True)),
    (re.compile(r"gpt-5\.(3|\d+-(mini|nano))"), Traits(400_000, _SEES, reasons=True)),
    (re.compile(r"gpt-([5-9]|\d\d)"), Traits(1_050_000, _SEES, reasons=True)),
    (re.compile(r"o3-mini"), Traits(200_000, reasons=True)),
    (re.compile(r"o\d"), Traits(200_000, _SEES, reasons=True)),
)
_SOUNDS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wav": "wav"}


def _data_url(part: Attachment, data: bytes) -> str:
    return f"data:{part.media_type};base64,{base64_of(data)}"


class ChatCompletions(Form):
    """OpenAI's chat completions, and all that is compatible with them."""

    path = "/chat/completions"
    known = _KNOWN
    may_write_tags = True

    def __init__(self, max_tokens: str = "max_completion_tokens") -> None:
        same = ("temperature", "top_p", "stop", "seed", "reasoning_effort")
        self.options = {"max_tokens": max_tokens, **{name: name for name in same}}

    def written(self, message: Message, files: Files, tool: str) -> bytes:
        wire: dict[str, Any] = {"role": message.role, "content": _chat_content(message, files)}
        if message.tool_calls:
            wire["content"] = wire["content"] or None
            wire["tool_calls"] = [
                {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": dumps(call.args)}}
                for call in message.tool_calls
            ]
        if message.tool_result is not None:
            wire["tool_call_id"] = message.tool_result.tool_call_id
        return dumps(wire).encode()

    def body(self, model: str, options: dict[str, Any], history: History, tools: bytes) -> bytes:
        fields = {"model": model, "stream": True, "stream_options": {"include_usage": True}, **options}
        return joined(fields, tools=tools, messages=b",".join([written for _, written in history]))

    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", "function": function}

    def reader(self) -> Reader:
        return read_chat


def _chat_content(message: Message, files: Files) -> str | list[dict[str, Any]]:
    """Return the text of a message; with files, its pieces in order. Reasoning is never sent back in this form."""
    if not any(isinstance(part, Attachment) for part in message.parts):
        return message.content
    return [
        _chat_block(piece, files) if isinstance(piece, Attachment) else {"type": "text", "text": piece}
        for piece in pieces_of(message)
        if isinstance(piece, str | Attachment)
    ]


def _chat_block(part: Attachment, files: Files) -> dict[str, Any]:
    data = files.get(part.file)
    if data is None:
        return {"type": "text", "text": without_bytes(part)}
    if part.type == "image":
        return {"type": "image_url", "image_url": {"url": _data_url(part, data)}}
    if part.type == "audio":
        sound = {"data": base64_of(data), "format": _SOUNDS.get(part.media_type, "mp3")}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "file", "file": {"file_data": _data_url(part, data), "filename": part.name or "file"}}


def read_chat(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of chat completions."""
    for choice in (event.get("choices") or ())[:1]:
        delta = choice.get("delta") or {}
        # Compatible servers send reasoning under one of two names.
        if isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str):
            buffer.add_reasoning(thought)
        if text := delta.get("content"):
            buffer.add_text(text if isinstance(text, str) else _text_of_parts(text))
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            buffer.add_call(call.get("index"), call.get("id"), function.get("name"), function.get("arguments") or "")
        buffer.reason = choice.get("finish_reason") or buffer.reason
    if counted := event.get("usage"):
        cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        buffer.set_usage(counted.get("prompt_tokens") or 0, counted.get("completion_tokens") or 0, cached)


def _text_of_parts(content: Any) -> str:
    """Return the text of a content that a compatible server sends in parts."""
    return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))


class Responses(Form):
    """OpenAI's Responses API. It knows neither stop sequences nor seeds, and takes no recordings."""

    path = "/responses"
    known = _KNOWN
    options: Mapping[str, str] = {
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_output_tokens",
        "reasoning_effort": "reasoning",
    }

    def written(self, message: Message, files: Files, tool: str) -> bytes:
        return ",".join(dumps(item) for item in _items(message, files)).encode()

    def body(self, model: str, options: dict[str, Any], history: History, tools: bytes) -> bytes:
        fields: dict[str, Any] = {"model": model, "stream": True, "store": False, **options}
        if "reasoning" in fields:
            fields["reasoning"] = {"effort": fields["reasoning"]}
        if "max_output_tokens" in fields:
            fields["max_output_tokens"] = max(16, fields["max_output_tokens"])  # it takes no less
        if fields.get("temperature") == 1:
            del fields["temperature"]  # the default, which models that reason do not take by name
        if self.traits(model).reasons:
            fields["include"] = ["reasoning.encrypted_content"]
        return joined(fields, tools=tools, input=b",".join([written for _, written in history]))

    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        named = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", **named}

    def reader(self) -> Reader:
        return read_response


def _items(message: Message, files: Files) -> Iterator[dict[str, Any]]:
    """Yield the items of a message: its reasoning and its calls are items of their own, in their places."""
    said: list[dict[str, Any]] = []
    item = {"type": "message", "role": message.role}
    for piece in pieces_of(message):
        match piece:
            case str() if message.role is Role.ASSISTANT:
                said.append({"type": "output_text", "text": piece, "annotations": []})
            case str():
                said.append({"type": "input_text", "text": piece})
            case Attachment():
                said.append(_response_block(piece, files))
            case ToolCall() | Reasoning():
                if said:
                    yield {**item, "content": said}
                    said = []
                yield from _response_item(piece)
    if message.tool_result is not None:
        output = said if message.parts else message.content
        yield {"type": "function_call_output", "call_id": message.tool_result.tool_call_id, "output": output}
    elif said:
        yield {**item, "content": said}


def _response_item(piece: ToolCall | Reasoning) -> Iterator[dict[str, Any]]:
    if isinstance(piece, ToolCall):
        yield {"type": "function_call", "call_id": piece.id, "name": piece.name, "arguments": dumps(piece.args)}
    elif piece.payload and "encrypted_content" in piece.payload:
        yield {"type": "reasoning", "summary": [], **piece.payload}


def _response_block(part: Attachment, files: Files) -> dict[str, Any]:
    data = files.get(part.file)
    if data is None or part.type == "audio":
        return {"type": "input_text", "text": without_bytes(part)}
    if part.type == "image":
        return {"type": "input_image", "image_url": _data_url(part, data)}
    return {"type": "input_file", "file_data": _data_url(part, data), "filename": part.name or "file"}


BETWEEN_SUMMARIES = "\n\n"
"""What stands between two summaries of one piece of reasoning."""
_REASONING_ITEM = ("id", "summary", "content", "encrypted_content")


def read_response(event: Event, buffer: DeltaBuffer) -> None:
    """Read an event of the Responses API."""
    match event.get("type"):
        case "response.output_text.delta":
            buffer.add_text(event["delta"])
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            buffer.add_reasoning(event["delta"])
        case "response.reasoning_summary_part.added" if event.get("summary_index"):
            buffer.add_reasoning(BETWEEN_SUMMARIES)
        case "response.output_item.done" if event["item"].get("type") == "reasoning":
            item = event["item"]
            buffer.add_reasoning("", {name: item[name] for name in _REASONING_ITEM if item.get(name)})
        case "response.output_item.added" if event["item"].get("type") == "function_call":
            item = event["item"]
            buffer.add_call(event["output_index"], item["call_id"], item["name"], item.get("arguments") or "")
        case "response.function_call_arguments.delta":
            buffer.add_call(event["output_index"], None, None, event["delta"])
        case "response.completed" | "response.incomplete" | "response.failed":
            _read_end_of_response(event["response"], buffer)
        case "error":
            raise ProviderError(event)


def _read_end_of_response(response: Event, buffer: DeltaBuffer) -> None:
    if error := response.get("error"):
        raise ProviderError(error)
    if counted := response.get("usage"):
        cached = (counted.get("input_tokens_details") or {}).get("cached_tokens") or 0
        buffer.set_usage(counted.get("input_tokens") or 0, counted.get("output_tokens") or 0, cached)
    buffer.reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status")
