"""Files that the original shop wrote: a server that is given them answers as the shop, before and after a kill."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.server import PATIENCE, Server

FIRST, SECOND = "sess_20250101_120000_abc12345", "sess_20250102_093000_def67890"
MESSAGES = [
    {"role": "user", "content": "Which phones are under $500?", "timestamp": "2025-01-01T12:00:00Z"},
    {"role": "assistant", "content": "A Samsung and a Motorola.", "timestamp": "2025-01-01T12:00:09Z"},
]
SHOP_SAYS = "Samsung Pixelia Plus 6"
"""What the shop makes of the follow-up together with what the file tells; nobody else does."""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Start a server with these settings on a folder with two files of another program."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for session in (FIRST, SECOND):
        times = {"created_at": MESSAGES[0]["timestamp"], "updated_at": MESSAGES[1]["timestamp"]}
        document = {"session_id": session, **times, "messages": MESSAGES}
        (folder / f"{session}.json").write_text(json.dumps(document), encoding="utf-8")
    server = Server(tmp_path, "--store", f"files:///{folder}")

    def start(settings: str) -> Server:
        (tmp_path / "threadkeep.toml").write_text(settings, encoding="utf-8")
        server.start()
        return server

    yield start
    server.kill()


def follow_up(server: Server, session: str, **fields: str) -> str:
    """Ask for more in a session and return the answer."""
    body = {"query": "tell me more about the Samsung one", "session_id": session, **fields}
    answer = httpx.post(f"{server.url}/chat", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


def conversation(server: Server, session: str, **change: Any) -> httpx.Response:
    """Read a conversation, or change it."""
    url = f"{server.url}/v1/conversations/{session}"
    return httpx.request("PATCH" if change else "GET", url, json=change or None, timeout=PATIENCE)


def test_the_assistant_that_is_set_answers_in_files_of_the_original_shop(serve: Callable[[str], Server]) -> None:
    server = serve('default_assistant = "shop"\n')
    assert SHOP_SAYS in follow_up(server, FIRST)
    server.restart()
    assert SHOP_SAYS in follow_up(server, FIRST)
    assert SHOP_SAYS in follow_up(server, SECOND)


def test_without_the_setting_a_patch_or_a_message_decides_who_answers(serve: Callable[[str], Server]) -> None:
    server = serve("")
    assert SHOP_SAYS not in follow_up(server, FIRST)
    refused = conversation(server, FIRST, assistant="nobody")
    assert (refused.status_code, refused.json()["detail"]) == (400, "There is no assistant named nobody.")
    before = conversation(server, FIRST).json()
    changed = conversation(server, FIRST, assistant="shop").json()
    assert (before["assistant"], changed["assistant"]) == (None, "shop")
    assert changed["version"] == before["version"] + 1
    assert SHOP_SAYS in follow_up(server, SECOND, assistant="shop")
    server.restart()
    for session in (FIRST, SECOND):
        assert SHOP_SAYS in follow_up(server, session)
        assert conversation(server, session).json()["assistant"] == "shop"
