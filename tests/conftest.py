"""Fixtures that every test may ask for by name. A test that asks for `store` runs on every backend."""

import os
import tomllib
from collections.abc import Generator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests import citus_programs
from tests.backends import BACKENDS, ON_DISK, opener, url_of
from threadkeep.errors import PackageMissing
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance import clock, store
from threadkeep.testing.stores import OpenAnother

__all__ = ["clock", "store"]

# No test may reach a real provider, whatever keys this machine has.
os.environ["THREADKEEP_NO_REAL_MODELS"] = "1"

ON_POSTGRES = ["tests.postgres_server", "tests.citus_cluster"] if find_spec("asyncpg") else []
pytest_plugins = [*ON_POSTGRES, "tests.watching"]
EXTRAS = {
    *(
        "aiohttp",
        "asyncpg",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "mcp",
        "openai",
        "ormsgpack",
        "PIL",
        "pypdf",
    ),
    *("sqlite_vec", "standardwebhooks", "streamlit", "wordllama", "yaml"),
}
"""Packages of extras that modules of the unit suite import. `make test` installs them all."""

settings.register_profile("threadkeep", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("threadkeep")


collect_ignore = [] if citus_programs.is_to_be_had() else ["integration/test_citus.py"]


def pytest_report_header() -> str:
    """Say where nothing is tried on several machines."""
    return f"Citus is not tried: {citus_programs.NOWHERE}" if collect_ignore else "Citus is tried"


def pytest_configure() -> None:
    """End at once where entry points were added since this environment was set up: rings would seem to be missing."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {(group, name) for group, points in project["entry-points"].items() for name in points}
    installed = {(point.group, point.name) for point in distribution("threadkeep").entry_points}
    if missing := sorted(declared - installed):
        raise pytest.UsageError(f"The entry points {missing} are not installed: pip install --no-deps -e .")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Leave out, with a word, a module that imports an extra which is not installed."""
    report = yield
    call = getattr(report, "call", None)  # `--last-failed` makes reports of its own, without one
    raised = call and call.excinfo and call.excinfo.value
    for error in (raised, getattr(raised, "__cause__", None)):
        named = str(error.name).partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if isinstance(error, PackageMissing) or named in EXTRAS:
            report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"Skipped: {error}")
    return report


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn."""
    return str(request.param)


@pytest.fixture
def open_another(backend: str, clock: FakeClock, tmp_path: Path, request: pytest.FixtureRequest) -> OpenAnother:
    """Opens handles on one store of the backend, with the clock of the test."""
    opened = opener(backend, tmp_path, request)

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


@pytest.fixture(params=ON_DISK)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each backend that outlives a process, in turn."""
    return url_of(str(request.param), tmp_path, request)
