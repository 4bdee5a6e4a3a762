"""The settings of one MCP server.

Waiting longer and longer, and not for ever.
"""

from typing import Any

import pytest
from pydantic import ValidationError

from threadkeep.tools.mcp import Backoff, McpServer


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


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(first=1, longest=5)
    waits = [backoff.after(0, None)]
    for _ in range(4):
        waits.append(backoff.after(0.1, waits[-1]))
    assert waits == [1, 2, 4, 5, 5]


def test_a_connection_that_held_for_long_begins_anew() -> None:
    assert Backoff(first=1, longest=5).after(5.1, 5) == 1
