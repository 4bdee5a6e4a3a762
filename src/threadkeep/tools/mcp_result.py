"""What an MCP server answered, as an outcome: its text, its structured content, and a note for what is neither."""

import json
from typing import Any, assert_never

from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.outcome import canonical, failure, storable


def outcome_from(result: CallToolResult) -> ToolOutcome:
    """Return the outcome behind an answer of a server."""
    texts = [_text(part) for part in result.content]
    if result.structured_content is not None and not _says_already(texts, result.structured_content):
        texts.append(canonical(result.structured_content))
    content = storable("\n".join(texts))
    if result.is_error:
        return failure(content or "The tool failed and did not say why.")
    return ToolOutcome(content=content)


def _text(part: ContentBlock) -> str:
    match part:
        case TextContent():
            return part.text
        case ImageContent() | AudioContent():
            return f"[{part.type} {part.mime_type}, {_size(part.data)}, not shown]"
        case ResourceLink():
            return f"[resource {part.name}: {part.uri}]"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource():
            return f"[resource {part.resource.uri}, {part.resource.mime_type or 'of unknown type'}, not shown]"
        case _:
            assert_never(part)


def _size(base64: str) -> str:
    return f"{max(1, len(base64) * 3 // 4 // 1024):,} KB"


def _says_already(texts: list[str], structured: Any) -> bool:
    """Whether the text is the structured content once more, as servers send it for clients that read only text."""
    if not texts:
        return False
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        return True  # how servers wrap a plain value, whose text is the value itself
    try:
        return bool(json.loads("\n".join(texts)) == structured)
    except ValueError:
        return False
