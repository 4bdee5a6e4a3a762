"""Fixtures of the integration tests: conversations whose turns run on stores of several kinds."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.backends import opener, url_of
from tests.everything import everything
from tests.integration.serving import Lane
from tests.unit.turn.processes import Processes
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.stores import OpenAnother
from threadkeep.turn import follow

LANES = ("sqlite", "everything-sqlite", "everything-postgresql")
TURNS_RUN_ON = ("sqlite", "postgresql")
"""Memory and files are left out: they are the SQLite store, and the conformance suite runs on them."""

TALK_TO_PROVIDERS = ("test_llm_openai", "test_llm_vendors", "test_turn_providers")


def pytest_asyncio_loop_factories(item: pytest.Item) -> object:
    """Run what talks to providers under both event loops."""
    if item.path.stem not in TALK_TO_PROVIDERS:
        return {"asyncio": asyncio.new_event_loop}
    from tests.loops import BOTH  # noqa: PLC0415 - the other suites do without uvloop

    return BOTH


@pytest.fixture(params=LANES)
def lane(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that servers use: of one as it comes, and of both with every option on."""
    name, _, backend = str(request.param).rpartition("-")
    url = url_of(backend, tmp_path, request)
    if not name:
        return url
    lane = Lane(url)
    lane.settings = everything(tmp_path, url)
    return lane


@pytest.fixture(params=TURNS_RUN_ON)
def stores_of_turns(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> OpenAnother:
    """Opens handles on one store of each kind in turn, with the clock of the test."""
    opened = opener(str(request.param), tmp_path, request)

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


@pytest_asyncio.fixture
async def processes(
    stores_of_turns: OpenAnother, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Processes]:
    """Opens conversations on the data of the test, and closes them; each soon sees what the others do."""
    monkeypatch.setattr(follow, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(follow, "LOOK_EVERY_BRIDGED", 0.02)
    opened = Processes(stores_of_turns, clock)
    yield opened
    await opened.close()
