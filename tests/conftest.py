"""Fixtures that every test may ask for by name. A test that asks for `store` runs on every backend."""

import os
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import settings

from tests import citus_programs
from tests.backends import BACKENDS, ON_DISK, opener, url_of
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance import clock, store
from threadkeep.testing.stores import OpenAnother

__all__ = ["clock", "store"]

# No test may reach a real provider, whatever keys this machine has.
os.environ["THREADKEEP_NO_REAL_MODELS"] = "1"

pytest_plugins = ["tests.postgres_server", "tests.citus_cluster", "tests.watching"]

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
