"""The supervisor: what dies comes back, what dies at once again and again is given up, and all end or are replaced."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVED = """
import os, signal, sys, threading
from pathlib import Path
from threadkeep.cli.supervisor import Supervisor

count, pause, ready_times = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def serve(post):
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: told.set())
    Path(str(os.getpid())).touch()
    if len(list(Path().iterdir())) > ready_times:
        return 7
    post.ready()
    say("serves", post.number, os.getpid(), "leads" if post.leads else "")
    told.wait()
    say("ends", post.number)
    return 0

sys.exit(Supervisor(serve, count, pause=pause, ended=lambda number: say("ended", number)).run())
"""


class Supervised:
    """A supervisor in a process, and what it and its workers print."""

    def __init__(self, folder: Path, count: int, pause: float = 0, ready_times: int = 100) -> None:
        command = [sys.executable, "-c", SERVED, str(count), str(pause), str(ready_times)]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.workers: dict[int, int] = {}
        self.leaders: list[int] = []

    def until(self, beginning: str, times: int = 1) -> str:
        """Read until lines that begin like this came so often; return the last one."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("serves"):
                _, number, process, *leads = line.split()
                self.workers[int(number)] = int(process)
                self.leaders += [int(process)] if leads else []
            times -= line.startswith(beginning)
            if not times:
                return line
        raise AssertionError(f"it ended before it said {beginning!r}")

    def end(self) -> str:
        """Wait for its end and return the rest of what was printed, which workers have ended to print, too."""
        return self.process.communicate(timeout=60)[0]


@pytest.fixture
def supervised(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Supervised]:
    one = Supervised(tmp_path, **request.param)
    yield one
    one.process.kill()
    one.end()


def of(**how: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("supervised", [how], indirect=True)


@of(count=2)
def test_a_worker_that_is_killed_comes_back_and_leads_if_it_led(supervised: Supervised) -> None:
    supervised.until("serves", 2)
    assert supervised.leaders == [supervised.workers[0]]
    os.kill(supervised.workers[1], signal.SIGKILL)
    assert "worker 1" in supervised.until("threadkeep: ")
    supervised.until("serves")
    assert len(supervised.leaders) == 1
    os.kill(supervised.workers[0], signal.SIGKILL)
    assert "was killed by SIGKILL and is started again" in supervised.until("threadkeep: ")
    supervised.until("serves")
    assert supervised.leaders[1:] == [supervised.workers[0]]


@of(count=2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_them_all_and_then_the_supervisor(supervised: Supervised, number: signal.Signals) -> None:
    supervised.until("serves", 2)
    supervised.process.send_signal(number)
    assert sorted(supervised.end().split()) == ["0", "0", "1", "1", "ended", "ended", "ends", "ends"]
    assert supervised.process.returncode == 0


@of(count=2)
def test_workers_end_with_a_supervisor_that_is_killed(supervised: Supervised) -> None:
    supervised.until("serves", 2)
    supervised.process.kill()
    # Its output has an end when the workers have ended, too.
    assert "ends" not in supervised.end()


@of(count=2)
def test_they_are_replaced_one_after_the_other_and_one_leads(supervised: Supervised) -> None:
    supervised.until("serves", 2)
    before = set(supervised.workers.values())
    supervised.process.send_signal(signal.SIGHUP)
    printed = [supervised.until("").split()[:2] for _ in range(6)]
    # Who says that it serves may be overtaken by one that hears of it.
    assert sorted(printed[:3]) == [["ended", "0"], ["ends", "0"], ["serves", "2"]]
    assert sorted(printed[3:]) == [["ended", "1"], ["ends", "1"], ["serves", "0"]]
    assert supervised.leaders[1:] == [supervised.workers[2]]
    assert not before & {supervised.workers[0], supervised.workers[2]}


@of(count=1, ready_times=0)
def test_one_that_cannot_even_be_started_is_not_started_again(supervised: Supervised) -> None:
    assert supervised.end() == "ended 0\n"
    assert supervised.process.returncode == 7


@of(count=2, ready_times=2)
def test_one_that_dies_at_once_again_and_again_is_given_up_with_the_whole(supervised: Supervised) -> None:
    supervised.until("serves", 2)
    os.kill(supervised.workers[1], signal.SIGKILL)
    assert "started again" in supervised.until("threadkeep: ")
    told = supervised.end()
    assert "worker 1 ended with status 7, the last of 5 that died at once: given up" in told
    assert "ends 0" in told
    assert supervised.process.returncode == 7


@of(count=2, ready_times=2)
def test_if_a_new_one_does_not_start_the_others_stay(supervised: Supervised) -> None:
    supervised.until("serves", 2)
    supervised.process.send_signal(signal.SIGHUP)
    assert "did not start: the others stay" in supervised.until("threadkeep: ")
    supervised.process.terminate()
    assert supervised.end().count("ends") == 2


@of(count=1, pause=600)
def test_it_can_be_stopped_while_its_only_worker_is_away(supervised: Supervised) -> None:
    supervised.until("serves")
    os.kill(supervised.workers[0], signal.SIGKILL)
    assert "again in 600" in supervised.until("threadkeep: ")
    supervised.process.terminate()
    assert supervised.end() == ""
    assert supervised.process.returncode == 0
