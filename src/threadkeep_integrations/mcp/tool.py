"""A tool of an MCP server: its name as models see it, calling it, and the server's answer as an outcome.

The name is `server__tool`, of at most 64 letters, digits, '_' and '-', as every provider accepts; a name that has to be
changed ends in a digest of the original, so that it is the same on every start. The server checks the arguments.
"""

import json
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import blake2s
from typing import Any, assert_never

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp.types import Tool as Listed

from threadkeep.conversation.value import storable
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolFile, ToolOutcome
from threadkeep.tools.mcp import McpServer
from threadkeep.tools.outcome import attempt, canonical, failure

_LONGEST = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")

Call = Callable[[str, Mapping[str, Any]], Awaitable[ToolOutcome]]
"""Calls a tool of one server by the name that the server gave it."""


class McpTool(Tool):
    def __init__(self, server: str, config: McpServer, listed: Listed, call: Call) -> None:
        hints = listed.annotations or ToolAnnotations()
        self.spec = ToolSpec(
            name=tool_name(server, listed.name),
            description=storable(listed.description or listed.title or ""),
            parameters={"type": "object", "properties": {}} | listed.input_schema,
        )
        self.repeatable = bool(hints.read_only_hint or hints.idempotent_hint)
        asks = _may_harm(hints) if config.approve == "destructive" else config.approve
        self.needs_approval = asks and listed.name not in config.allow
        self._name = listed.name
        self._timeout = config.timeout
        self._call = call

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        return await attempt(lambda: self._call(self._name, args), self._timeout)


def tools_from(server: str, config: McpServer, listed: Iterable[Listed], call: Call) -> tuple[Tool, ...]:
    """Return what a server listed as tools, sorted by name so that a model always sees the same list."""
    found: dict[str, Tool] = {}
    for each in listed:
        tool = McpTool(server, config, each, call)
        found.setdefault(tool.spec.name, tool)
    return tuple(found[name] for name in sorted(found))


def _may_harm(hints: ToolAnnotations) -> bool:
    """Whether a tool may destroy something; one without annotations may."""
    return not hints.read_only_hint and hints.destructive_hint is not False


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool as models see it."""
    plain = f"{server}__{tool}"
    if len(plain) <= _LONGEST and not _ILLEGAL.search(plain):
        return plain
    digest = blake2s(plain.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    return f"{_ILLEGAL.sub('_', plain)[: _LONGEST - 11]}_{digest}"


def outcome_from(result: CallToolResult) -> ToolOutcome:
    files = [(part, _file_in(part)) for part in result.content]
    texts = [_part_as_text(part) for part, file in files if file is None]
    if result.structured_content is not None and not _says_already(texts, result.structured_content):
        texts.append(canonical(result.structured_content))
    content = storable("\n".join(texts))
    if result.is_error:
        return failure(content or "The tool failed and did not say why.")
    return ToolOutcome(content=content, files=tuple(file for _, file in files if file is not None))


def _file_in(part: ContentBlock) -> ToolFile | None:
    """Return the image, recording or other file in a part; None if there is none, or its bytes cannot be decoded."""
    match part:
        case ImageContent() | AudioContent():
            kind, data, name = part.mime_type, part.data, ""
        case EmbeddedResource(resource=BlobResourceContents(mime_type=mime_type, blob=data, uri=uri)):
            kind, name = mime_type or "application/octet-stream", str(uri).rpartition("/")[2]
        case _:
            return None
    try:
        return ToolFile(media_type=kind, data=b64decode(data, validate=True), name=name)
    except ValueError:
        return None


def _part_as_text(part: ContentBlock) -> str:
    match part:
        case TextContent():
            return part.text
        case ImageContent() | AudioContent():
            return f"[{part.type} {part.mime_type}, {_kilobytes(part.data)}, not shown]"
        case ResourceLink():
            return f"[resource {part.name}: {part.uri}]"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource():
            return f"[resource {part.resource.uri}, {part.resource.mime_type or 'of unknown type'}, not shown]"
        case _:
            assert_never(part)


def _kilobytes(base64: str) -> str:
    return f"{max(1, len(base64) * 3 // 4 // 1024):,} KB"


def _says_already(texts: list[str], structured: Any) -> bool:
    """Whether the text repeats the structured content, as servers do for clients that read only text."""
    if not texts:
        return False
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        return True  # how servers wrap a plain value, whose text is the value itself
    try:
        return bool(json.loads("\n".join(texts)) == structured)
    except ValueError:
        return False
