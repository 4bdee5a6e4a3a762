"""Tools that a server listed: what its hints mean here."""

from typing import Any, Literal

import pytest
from mcp.types import Tool as Listed
from mcp.types import ToolAnnotations

from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.mcp_config import McpServer
from threadkeep.tools.mcp_tool import McpTool, tools_from


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
