"""Processes that delete what is due, erase a person, or take files, killed with SIGKILL before and after every step."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends import url_of


def test_a_process_killed_at_any_step_of_a_deletion_an_erasure_or_an_upload_leaves_nothing_that_is_not_finished(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [sys.executable, "-m", "tests.acceptance.torture_keeping", "--every"]
    command += ["--url", url_of("sqlite", tmp_path, request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=request.config.rootpath)
    assert done.returncode == 0, done.stdout + done.stderr
    moments = int(done.stdout.split("keeping, ")[1].split(" moments")[0])
    assert moments >= 60, "a deletion, an erasure and two uploads have that many steps"
    assert f"{moments} killed" in done.stdout
