"""Tools that a server listed: what its hints mean here.

Names of MCP tools: legal for every provider, stable, and different for different tools.

Answers of MCP servers as outcomes.
"""

import re
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp.types import Tool as Listed
from pydantic import TypeAdapter, ValidationError

from threadkeep.tools.base import ToolFile, ToolOutcome
from threadkeep.tools.mcp import McpServer, McpServerName
from threadkeep_integrations.mcp.tool import McpTool, outcome_from, tool_name, tools_from


async def no_call(name: str, args: Any) -> ToolOutcome:
    """Nothing is called here."""
    raise AssertionError


def listed(name: str = "t", hints: dict[str, bool] | None = None) -> Listed:
    """Return a tool as a server lists it, with hints if there are any."""
    annotations = ToolAnnotations.model_validate(hints, by_name=True) if hints else None
    return Listed(name=name, input_schema={}, annotations=annotations)


@pytest.mark.parametrize(
    ("hints", "repeatable"),
    [
        ({}, False),
        ({"read_only_hint": True}, True),
        ({"idempotent_hint": True}, True),
        ({"read_only_hint": False}, False),
    ],
)
def test_a_tool_that_only_reads_or_may_be_repeated_is_repeatable(hints: dict[str, bool], repeatable: bool) -> None:
    assert McpTool("s", McpServer(command="c"), listed(hints=hints), no_call).repeatable is repeatable


@pytest.mark.parametrize(
    ("approve", "hints", "needed"),
    [
        (False, {"destructive_hint": True}, False),
        (True, {"read_only_hint": True}, True),
        ("destructive", {}, True),
        ("destructive", {"destructive_hint": True}, True),
        ("destructive", {"destructive_hint": False}, False),
        ("destructive", {"read_only_hint": True}, False),
    ],
)
def test_approval_is_needed_as_the_settings_say(
    approve: bool | Literal["destructive"], hints: dict[str, bool], needed: bool
) -> None:
    config = McpServer(command="c", approve=approve)
    assert McpTool("s", config, listed(hints=hints), no_call).needs_approval is needed


def test_every_call_needs_consent_until_a_tool_is_allowed_by_name() -> None:
    harmless = {"read_only_hint": True}
    config = McpServer(command="c", allow=("status",))
    assert McpTool("s", config, listed("commit", hints=harmless), no_call).needs_approval
    assert not McpTool("s", config, listed("status"), no_call).needs_approval


def test_a_schema_is_completed_to_what_every_provider_takes() -> None:
    tool = McpTool("s", McpServer(command="c"), listed(), no_call)
    assert tool.spec.parameters == {"type": "object", "properties": {}}


def test_tools_are_sorted_and_a_name_listed_twice_counts_once() -> None:
    found = tools_from("s", McpServer(command="c"), [listed("b"), listed("a"), listed("b")], no_call)
    assert [tool.spec.name for tool in found] == ["s__a", "s__b"]


servers = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,5}(_[A-Za-z0-9-]{1,4}){0,2}", fullmatch=True)
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def test_a_legal_name_is_kept_readable() -> None:
    assert tool_name("git-hub", "create_issue") == "git-hub__create_issue"


def test_a_long_name_is_cut_and_the_same_on_every_start() -> None:
    name = tool_name("server", "x" * 200)
    assert name == f"server__{'x' * 45}_20aa7caedd"
    assert len(name) == 64


def test_names_that_differ_only_where_they_are_changed_stay_different() -> None:
    names = {tool_name("s", tool) for tool in ("a.b", "a/b", "a b", "a_b", "x" * 90 + "1", "x" * 90 + "2")}
    assert len(names) == 6


@given(servers, st.text(alphabet=st.characters(exclude_categories=[]), max_size=120))
def test_every_name_is_legal(server: str, tool: str) -> None:
    assert _LEGAL.fullmatch(tool_name(server, tool))


tools = st.text(alphabet="ab_.", min_size=1, max_size=6)


@given(st.tuples(servers, tools), st.tuples(servers, tools))
def test_different_tools_have_different_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (tool_name(*one) == tool_name(*other)) == (one == other)


@pytest.mark.parametrize("name", ["", "a__b", "a_", "_a", "9", "a b", "ä", "x" * 41])
def test_a_server_name_that_would_make_names_unclear_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="cannot name an MCP server"):
        TypeAdapter(McpServerName).validate_python(name)


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


def test_images_recordings_and_files_are_returned_as_files() -> None:
    pdf = BlobResourceContents(uri="file:///a/b.pdf", blob="cGRm", mime_type="application/pdf")
    result = CallToolResult(
        content=[
            TextContent(text="Look."),
            ImageContent(data="cG5n", mime_type="image/png"),
            AudioContent(data="d2F2", mime_type="audio/wav"),
            EmbeddedResource(resource=pdf),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///c", blob="Yw==")),
        ]
    )
    outcome = outcome_from(result)
    assert outcome.content == "Look."
    assert outcome.files == (
        ToolFile(media_type="image/png", data=b"png"),
        ToolFile(media_type="audio/wav", data=b"wav"),
        ToolFile(media_type="application/pdf", data=b"pdf", name="b.pdf"),
        ToolFile(media_type="application/octet-stream", data=b"c", name="c"),
    )


def test_what_is_neither_text_nor_a_file_becomes_a_note() -> None:
    result = CallToolResult(
        content=[
            ImageContent(data="A" * 8191, mime_type="image/png"),
            AudioContent(data="A", mime_type="audio/wav"),
            ResourceLink(name="report", uri="file:///report.pdf"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="its text")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///b.bin", blob="A")),
        ]
    )
    assert outcome_from(result).content.split("\n") == [
        "[image image/png, 5 KB, not shown]",
        "[audio audio/wav, 1 KB, not shown]",
        "[resource report: file:///report.pdf]",
        "its text",
        "[resource file:///b.bin, of unknown type, not shown]",
    ]


def test_an_error_of_the_tool_is_an_error() -> None:
    assert outcome_from(answer("no such file", is_error=True)).error == "no such file"
    assert outcome_from(answer(is_error=True)).error == "The tool failed and did not say why."
