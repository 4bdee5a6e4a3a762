"""Each adapter of a framework, driven by the real package in an environment of its own: see tests/frameworks, and
tests/every_framework.py for what holds for all of them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients import framework_python
from tests.documents import ROOT

PROGRAMS = ROOT / "tests" / "frameworks"
EVERY = ("claude-agent-sdk", "google-adk", "langchain", "langgraph", "openai-agents", "pydantic-ai")
OPTIONS = ("--noconftest", "--import-mode=importlib", "-c", "pytest.ini", "-q", "-p", "no:cacheprovider", "--rootdir")
SETTINGS = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_the_adapters_of(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    _run(PROGRAMS / f"{name}.py", name.replace("_", "-"), tmp_path, request)


@pytest.mark.parametrize("name", EVERY)
def test_where_features_meet(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    _run(ROOT / "tests" / "every_framework.py", name, tmp_path, request)


def _run(program: Path, name: str, folder: Path, request: pytest.FixtureRequest) -> None:
    (folder / "pytest.ini").write_text(SETTINGS)
    url = request.getfixturevalue("postgres_database").server
    ran = subprocess.run(
        [framework_python(name), "-m", "pytest", *OPTIONS, folder, program],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "THREADKEEP_TEST_URL": str(url),
            "THREADKEEP_TEST_FRAMEWORK": name,
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
