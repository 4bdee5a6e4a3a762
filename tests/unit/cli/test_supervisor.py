"""A server that may be killed comes back; one that ends by itself, or whose supervisor is gone, does not."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SERVED = """
import os, signal, sys, time
from pathlib import Path
from threadkeep.cli.supervisor import serve_again

def serve():
    count = len(list(Path().iterdir()))
    Path(str(count)).touch()
    print("serves", count, flush=True)
    if count < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "wait":
        time.sleep(600)
    return 7

sys.exit(serve_again(serve, pause=float(sys.argv[2])))
"""


def start(folder: Path, how: str, pause: int = 0) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SERVED, how, str(pause)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def test_a_killed_server_is_started_again_until_it_ends_by_itself(tmp_path: Path) -> None:
    process = start(tmp_path, "end")
    told, _ = process.communicate(timeout=60)
    assert told.count("serves") == 3
    assert told.count("It comes back in 0 s.") == 2
    assert process.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_its_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, "wait")
    assert process.stdout is not None
    while process.stdout.readline() != "serves 2\n":
        pass
    process.send_signal(number)
    # Its output has an end when the child has ended, too, which would write to it for ten minutes.
    process.communicate(timeout=60)
    assert process.returncode != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_can_be_stopped_while_its_server_is_away(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, "wait", pause=600)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("The server was killed."):
        pass
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == -number
