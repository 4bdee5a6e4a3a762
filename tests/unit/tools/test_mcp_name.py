"""Names of MCP tools: legal for every provider, stable, and different for different tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from threadkeep.tools.mcp_config import McpServerName
from threadkeep.tools.mcp_name import tool_name

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
