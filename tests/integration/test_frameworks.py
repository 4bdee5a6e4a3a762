"""Each adapter of a framework, driven by the real package in an environment of its own: see tests/frameworks."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients import framework_python
from tests.documents import ROOT

PROGRAMS = ROOT / "tests" / "frameworks"
OPTIONS = ("--noconftest", "--import-mode=importlib", "-c", "pytest.ini", "-q", "-p", "no:cacheprovider", "--rootdir")
SETTINGS = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_the_adapters_of(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    url = request.getfixturevalue("postgres_database").server
    ran = subprocess.run(
        [framework_python(name.replace("_", "-")), "-m", "pytest", *OPTIONS, tmp_path, PROGRAMS / f"{name}.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "THREADKEEP_TEST_URL": str(url),
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
