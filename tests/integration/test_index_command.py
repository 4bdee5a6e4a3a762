"""`threadkeep index` as a process: a bar on a terminal, an interruption half-way, a reader that has seen enough."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from threadkeep_retrieval.hybrid import HybridIndex

INDEX = [sys.executable, "-m", "threadkeep.cli.main", "index"]


def documents(folder: Path, count: int) -> Path:
    path = folder / "many.jsonl"
    text = "The sea is deep, and nobody knows what lives in it. " * 40
    path.write_text("\n".join(json.dumps({"id": f"{n:05}", "text": f"{n} {text}"}) for n in range(count)))
    return path


async def count(path: Path) -> int:
    total, after = 0, ""
    async with HybridIndex.open(path) as index:
        while page := await index.documents(after=after):
            total, after = total + len(page), page[-1].id
    return total


def glance(path: Path) -> int:
    """Return how many documents there are, past the index, which takes a while to open."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as file, suppress(sqlite3.OperationalError):
        return int(file.execute("SELECT count(*) FROM document").fetchone()[0])
    return 0


async def test_interrupted_half_way_it_leaves_a_valid_index_and_goes_on_from_there(tmp_path: Path) -> None:
    many, pipe, path = documents(tmp_path, 300), tmp_path / "pipe.jsonl", tmp_path / "x.index"
    os.mkfifo(pipe)
    with subprocess.Popen([*INDEX, "add", str(path), str(pipe)], stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("wb") as file:  # as long as it is open, the command waits for more
            file.write(b"".join(many.read_bytes().splitlines(keepends=True)[:200]))
            file.flush()
            while not path.exists() or glance(path) == 0:
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (130, "")
    had = await count(path)
    assert 0 < had < 200
    assert had % 64 == 0
    again = subprocess.run([*INDEX, "add", str(path), str(many)], capture_output=True, text=True, check=True)
    assert again.stdout.startswith(f"{300 - had} documents added or changed, {had} unchanged")


def test_the_bar_is_drawn_on_a_terminal_and_the_output_is_clean(tmp_path: Path) -> None:
    many = documents(tmp_path, 300)
    master, screen = pty.openpty()
    with subprocess.Popen(
        [*INDEX, "add", str(tmp_path / "x.index"), str(many)], stdout=subprocess.PIPE, stderr=screen, text=True
    ) as process:
        os.close(screen)
        shown = b""
        while block := _read(master):
            shown += block
        assert process.stdout is not None
        assert process.stdout.read().startswith("300 documents added")
    os.close(master)
    assert "█".encode() in shown
    assert b"many.jsonl" in shown
    assert shown.endswith(b"\r\x1b[K")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that the other side is closed
        return b""


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = documents(tmp_path, 300)
    path = tmp_path / "x.index"
    subprocess.run([*INDEX, "add", str(path), str(many)], check=True, capture_output=True)
    with subprocess.Popen([*INDEX, "list", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
