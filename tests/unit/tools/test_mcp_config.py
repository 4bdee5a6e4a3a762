"""The settings of one MCP server."""

from typing import Any

import pytest
from pydantic import ValidationError

from threadkeep.tools.mcp_config import McpServer


def test_a_server_is_a_command_or_a_url() -> None:
    assert McpServer(command="uvx", args=("mcp-server-git",)).url is None
    assert McpServer(url="https://example.org/mcp", headers={"Authorization": "Bearer x"}).command is None


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "either a command or a url"),
        ({"command": "a", "url": "http://b"}, "either a command or a url"),
        ({"url": "http://b", "args": ["x"]}, "belong to a server with a command"),
        ({"command": "a", "headers": {"x": "y"}}, "belong to a server with a url"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"command": ""}, "command"),
        ({"command": "a", "timeout": 0}, "timeout"),
        ({"command": "a", "approve": "sometimes"}, "approve"),
        ({"command": "a", "comand": "b"}, "comand"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        McpServer.model_validate(fields)


def test_secrets_are_not_shown() -> None:
    shown = repr([McpServer(command="a", env={"TOKEN": "hush"}), McpServer(url="http://b", headers={"T": "hush"})])
    assert "hush" not in shown
