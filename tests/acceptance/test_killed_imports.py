"""A real process that imports is killed in the middle; the next one goes on, and then everything is there, once."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.roundtrips import exported
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import STEP_ENTRIES

ALL = Selection(LOCAL.tenant, LOCAL.user)
MESSAGES, CONVERSATIONS = 1500, 4
KILLED = """
import asyncio, os, signal, sys
from threadkeep.cli.main import main
from threadkeep.store.ruled import RuledStore

steps, whole = int(sys.argv[1]), RuledStore.import_entries

async def import_entries(store, scope, imported):
    global steps
    steps -= 1
    writing = asyncio.create_task(whole(store, scope, imported))
    if steps < 0:
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGKILL)
    return await writing

RuledStore.import_entries = import_entries
sys.exit(main(sys.argv[2:]))
"""
"""A program that imports and is killed while it writes the step after so many."""


async def _lines() -> bytes:
    store = await open_store("memory:")
    for number in range(CONVERSATIONS):
        await new(store, LOCAL, *(f"message {each}" for each in range(MESSAGES)), name=f"c{number}")
    return await exported(store, ALL)


async def _whole(url: str) -> bytes:
    store = await open_store(url)
    try:
        return await exported(store, ALL)
    finally:
        await store.close()


def _stored(path: Path) -> int:
    """Return how many entries another process has stored by now."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        count = int(db.execute("SELECT count(*) FROM entry").get)
        db.close()
    except apsw.Error:
        return 0
    return count


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_a_killed_import_is_finished_by_the_next_one(steps: int, tmp_path: Path) -> None:
    lines, path = asyncio.run(_lines()), tmp_path / "killed.db"
    (tmp_path / "lines.jsonl").write_bytes(lines)
    arguments = ["import", str(tmp_path / "lines.jsonl"), "--store", f"sqlite:///{path}"]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(steps), *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert STEP_ENTRIES * steps <= _stored(path) < MESSAGES * CONVERSATIONS
    command = [sys.executable, "-m", "threadkeep.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0 failed\n")
    assert asyncio.run(_whole(f"sqlite:///{path}")) == lines
