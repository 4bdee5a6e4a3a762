"""Processes that run turns, killed between any two steps: every turn ends, nothing is lost, nothing happens twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends import url_of

BACKENDS = ("sqlite", "postgresql")


def _torture(url: str, root: Path, *arguments: str) -> str:
    """Run a campaign in a process of its own, and return what it tells if no promise was broken."""
    command = [sys.executable, "-m", "tests.acceptance.torture_turns", "--url", url, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_killed_between_any_two_steps_of_a_turn_leaves_nothing_that_is_not_made_good(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    told = _torture(url_of(backend, tmp_path, request), request.config.rootpath, "--every")
    moments = int(told.split("turns, ")[1].split(" moments")[0])
    assert moments >= 20, "two turns with tools have that many steps, however few drafts a slow store writes"
    assert f"{moments} killed" in told


@pytest.mark.parametrize("backend", BACKENDS)
def test_processes_killed_at_random_and_again_while_they_recover_leave_nothing_open(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    told = _torture(url_of(backend, tmp_path, request), request.config.rootpath, "--count", "12", "--seed", "20261115")
    assert "every turn ended" in told
