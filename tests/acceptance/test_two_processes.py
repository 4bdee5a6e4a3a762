"""Two processes that append to the same conversation at the same time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.appender import CONVERSATION
from tests.backends import url_of
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import texts_of
from threadkeep.testing.stores import whole_log


def _appender(url: str, name: str, count: int, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.acceptance.appender", url, name, str(count)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )


def _run_together(processes: "list[subprocess.Popen[str]]") -> list[list[int]]:
    """Let all begin at the same moment, and return what each of them stored."""
    for process in processes:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise AssertionError(process.communicate()[1])
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    stored = []
    for process in processes:
        out, error = process.communicate()
        assert process.returncode == 0, error
        stored.append(json.loads(out))
    return stored


@pytest.mark.parametrize(("backend", "count"), [("sqlite", 1000), ("postgresql", 1000), ("files", 300)])
async def test_two_processes_append_to_one_conversation_without_gap_duplicate_or_error(
    backend: str, count: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = url_of(backend, tmp_path, request)
    store = await open_store(url)
    await store.create(LOCAL, NewConversation(id=CONVERSATION))
    processes = [_appender(url, name, count, request.config.rootpath) for name in ("one", "two")]
    one, two = _run_together(processes)

    entries, _ = await whole_log(store, LOCAL, CONVERSATION)
    assert [entry.seq for entry in entries] == list(range(1, 2 * count + 1))
    assert [entry.parent for entry in entries] == [None, *range(1, 2 * count)]
    texts = texts_of(entries)
    for name, seqs in (("one", one), ("two", two)):
        assert [texts[seq - 1] for seq in seqs] == [f"{name} {number}" for number in range(count)]
    assert sorted(one + two) == list(range(1, 2 * count + 1))
    await store.close()
