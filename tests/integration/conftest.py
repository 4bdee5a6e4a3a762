"""Fixtures of the integration tests: conversations whose turns run on stores of several kinds."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.backends import opener, url_of
from tests.everything import everything
from tests.identities import ISSUER_OF_LANES as ISSUER
from tests.integration.serving import Lane, Server
from tests.unit.turn.processes import Processes
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.stores import OpenAnother
from threadkeep.turn import follow
from threadkeep_client import connect

LANES = ("sqlite", "everything-sqlite", "everything-postgresql")
WAYS = ("jwt-sqlite", "service-sqlite")
"""The lanes of the suite of the native API in which whoever asks has shown who it is: with a token of an issuer, and as
a service that acts for a user."""
TURNS_RUN_ON = ("sqlite", "postgresql")
"""Memory and files are left out: they are the SQLite store, and the conformance suite runs on them."""

TALK_TO_PROVIDERS = ("test_llm_openai", "test_llm_vendors", "test_turn_providers")


def pytest_asyncio_loop_factories(item: pytest.Item) -> object:
    """Run what talks to providers under both event loops."""
    if item.path.stem not in TALK_TO_PROVIDERS:
        return {"asyncio": asyncio.new_event_loop}
    from tests.loops import BOTH  # noqa: PLC0415 - the other suites do without uvloop

    return BOTH


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let the suite of the native API also run for those who sign in."""
    if "lane" in metafunc.fixturenames:
        ways = WAYS if metafunc.module.__name__.endswith("test_server_routes") else ()
        metafunc.parametrize("lane", (*LANES, *ways), indirect=True)


@pytest.fixture
def lane(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that servers use: of one as it comes, of both with every option on, and of
    one whose callers sign in."""
    name, _, backend = str(request.param).rpartition("-")
    url = url_of(backend, tmp_path, request)
    if not name:
        return url
    lane = Lane(url)
    if name in ("jwt", "service"):
        lane.settings, lane.way = ISSUER.settings(tenant="local", role_claim="role"), name
    else:
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


@pytest.fixture(params=["here", "over HTTP"])
async def conversations(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Any]:
    """What a program opens: the conversations of this process, or those of a server."""
    if request.param == "here":
        yield server.conversations
        return
    async with connect(server.url) as opened:
        yield opened
