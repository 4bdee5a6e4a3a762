"""The `curl` lines outside of the reference: those that somebody tries first."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.browser.server import Server
from tests.documents import blocks_of


def lines_with_curl(document: str) -> str:
    """Return the first block of commands that uses curl, without the line that starts a server."""
    block = next(block.text for block in blocks_of(document) if block.kind == "sh" and "curl " in block.text)
    return "".join(
        line for line in block.splitlines(keepends=True) if not line.startswith(("make run", "threadkeep serve"))
    )


def printed(script: str, server: Server, **variables: str) -> str:
    """Run commands against a server and return what they print."""
    script = script.replace("http://127.0.0.1:8000", server.url)
    done = subprocess.run(
        ["bash", "-ec", script],
        env=os.environ | variables,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_readme_pasted_whole_waits_for_its_server(tmp_path: Path) -> None:
    (block,) = (block.text for block in blocks_of("README.md") if block.kind == "sh" and "curl " in block.text)
    start, rest = block.split("\n", 1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = f"{Path(sys.executable).with_name('threadkeep')} serve --model demo --port {port} 2> log &"
    script = f"trap 'kill %1; wait' EXIT\nset -m\n{command}\n{rest.replace(':8000', f':{port}')}"
    assert start == "threadkeep serve --model demo &"
    done = subprocess.run(["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert "event: turn.completed" in done.stdout


def test_the_readme_streams_an_answer(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    try:
        told = printed(lines_with_curl("README.md"), server)
    finally:
        server.kill()
    assert "event: text.delta" in told
    assert "Nice to meet you, Ada" in told
    assert "event: turn.completed" in told


def test_the_guide_to_signing_in_shows_who_somebody_is(tmp_path: Path) -> None:
    server = Server(tmp_path, "--auth", "keys")
    server.start()
    try:
        key = server.key("acme", "ada")
        assert '"user":"ada"' in printed(lines_with_curl("docs/howto/sign-people-in.md"), server, KEY=key)
    finally:
        server.kill()
