"""The page's modules that need no browser: node runs their tests, `*.test.js`."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.test.js")))
def test_a_module_does_what_its_own_tests_say(name: str) -> None:
    node = Path(sys.executable).with_name("node")
    told = subprocess.run(
        [node, "--expose-internals", "--test", "--test-reporter=spec", HERE / name],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
