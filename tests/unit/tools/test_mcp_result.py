"""Answers of MCP servers as outcomes."""

from typing import Any

import pytest
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.mcp_result import outcome_from


def answer(*texts: str, structured: Any = None, is_error: bool = False) -> CallToolResult:
    """Return an answer with some text."""
    parts: list[Any] = [TextContent(text=text) for text in texts]
    return CallToolResult(content=parts, structured_content=structured, is_error=is_error)


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (answer("one", "two"), "one\ntwo"),
        (answer(), ""),
        (answer(structured={"b": 1, "a": 2}), '{"a":2,"b":1}'),
        (answer('{"a": 2,\n "b": 1}', structured={"b": 1, "a": 2}), '{"a": 2,\n "b": 1}'),
        (answer("3", structured={"result": 3}), "3"),
        (answer("Three rows.", structured={"rows": [1, 2, 3]}), 'Three rows.\n{"rows":[1,2,3]}'),
        (answer("lone \ud800"), "lone ?"),
    ],
)
def test_text_and_structured_content_become_text_once(result: CallToolResult, content: str) -> None:
    assert outcome_from(result) == ToolOutcome(content=content)


def test_what_is_not_text_becomes_a_note() -> None:
    result = CallToolResult(
        content=[
            ImageContent(data="A" * 8192, mime_type="image/png"),
            AudioContent(data="A", mime_type="audio/wav"),
            ResourceLink(name="report", uri="file:///report.pdf"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="its text")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///b.bin", blob="AAAA")),
        ]
    )
    assert outcome_from(result).content.split("\n") == [
        "[image image/png, 6 KB, not shown]",
        "[audio audio/wav, 1 KB, not shown]",
        "[resource report: file:///report.pdf]",
        "its text",
        "[resource file:///b.bin, of unknown type, not shown]",
    ]


def test_an_error_of_the_tool_is_an_error() -> None:
    assert outcome_from(answer("no such file", is_error=True)).error == "no such file"
    assert outcome_from(answer(is_error=True)).error == "The tool failed and did not say why."
