"""A tool server's program: what it writes is bounded, and what the settings keep secret is taken out of it."""

import asyncio
import sys
from pathlib import Path

import anyio
import pytest

from threadkeep.tools.mcp import McpServer
from threadkeep_integrations.mcp import program as mcp_program
from threadkeep_integrations.mcp.program import Redaction, Stderr, program_streams


def python(script: str) -> McpServer:
    """Return the settings of a server that is a few lines of Python."""
    return McpServer(command=sys.executable, args=("-c", script))


async def last_words(script: str) -> str:
    """Run a server to its end and return the last that it wrote to its standard error, as an operator sees it."""
    config = python(script)
    stderr = Stderr("double", Redaction(config))
    async with asyncio.timeout(20), program_streams(config, stderr) as (reading, _):
        async for _ in reading:
            pass
    return stderr.last


async def test_standard_error_without_a_line_end_is_read_and_not_held() -> None:
    assert await last_words("import sys; sys.stderr.write('x' * 10_000_000)") == "(a line of more than 8192 bytes)"
    assert await last_words("import sys; sys.stderr.write('x' * 10_000_000 + '\\nend')") == "end"


async def test_a_line_that_is_too_long_ends_the_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mcp_program, "LARGEST_MESSAGE", 1000)
    whole, ends = tmp_path / "whole", "import pathlib, sys; sys.stdin.read()"
    config = python(f"print('{{' + 'x' * 10_000_000, flush=True); {ends}; pathlib.Path({str(whole)!r}).touch()")
    async with asyncio.timeout(20), program_streams(config, Stderr("double", Redaction(config))) as (reading, _):
        with pytest.raises(anyio.EndOfStream):
            await reading.receive()
    assert whole.exists(), "the rest is read, so that the program can end by itself"


async def test_a_command_that_cannot_be_started_says_so() -> None:
    config = McpServer(command="/no/such/command")
    stderr = Stderr("double", Redaction(config))
    async with program_streams(config, stderr) as (reading, _):
        with pytest.raises(anyio.EndOfStream):
            await reading.receive()
    assert stderr.last == "No such file or directory: /no/such/command"


def test_the_secrets_of_the_settings_are_taken_out() -> None:
    program = McpServer(
        command="x",
        args=("--api-key", "k-first", "--token=k-second", "--repository", "/srv/data"),
        env={"KEY": "-----BEGIN\nk-third\nk-third-and-more"},
    )
    said = "k-first, k-second, k-third, k-third-and-more in /srv/data"
    assert Redaction(program)(said) == "***, ***, ***, *** in /srv/data"
    remote = McpServer(url="https://u:k-password@example.org/?t=k-query", headers={"Authorization": "Bearer k-header"})
    assert Redaction(remote)("k-password k-query k-header") == "*** *** ***"
