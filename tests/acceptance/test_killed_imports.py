"""A real process that imports is killed in the middle; the next one goes on, and then everything is there, once."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from tests.roundtrips import exported
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new
from threadkeep.transfer.exporter import Selection

ALL = Selection(LOCAL.tenant, LOCAL.user)
MESSAGES, CONVERSATIONS = 1500, 4


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


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_a_killed_import_is_finished_by_the_next_one(share: float, tmp_path: Path) -> None:
    lines, path = asyncio.run(_lines()), tmp_path / "killed.db"
    (tmp_path / "lines.jsonl").write_bytes(lines)
    command = [sys.executable, "-m", "threadkeep.cli.main", "import", str(tmp_path / "lines.jsonl")]
    command += ["--store", f"sqlite:///{path}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and _stored(path) < share * MESSAGES * CONVERSATIONS:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    process.kill()
    process.wait()
    assert _stored(path) > 0
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0 failed\n")
    assert asyncio.run(_whole(f"sqlite:///{path}")) == lines
