"""The page's reducer: a pure module, so node runs its tests, `reducer.test.js`, without a browser."""

import subprocess
import sys
from pathlib import Path


def test_what_the_page_knows_follows_from_the_events_alone() -> None:
    node = Path(sys.executable).with_name("node")
    told = subprocess.run(
        [node, "--test", "--test-reporter=spec", Path(__file__).with_name("reducer.test.js")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
