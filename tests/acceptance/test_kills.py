"""Writers killed at random moments: what was acknowledged is there once, what was not at most once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends import url_of


@pytest.mark.parametrize(("backend", "count"), [("sqlite", 50), ("postgresql", 50), ("files", 20)])
def test_a_writer_killed_at_any_moment_loses_nothing_and_doubles_nothing(
    backend: str, count: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = url_of(backend, tmp_path, request)
    command = [
        sys.executable,
        "-m",
        "tests.acceptance.torture",
        "--url",
        url,
        "--count",
        str(count),
        "--seed",
        "20261115",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=request.config.rootpath)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} killed" in done.stdout
    steps = int(done.stdout.rsplit("killed, ", 1)[1].split(" steps")[0])
    assert steps > 10 * count, "the writers were killed before they wrote anything worth losing"
