"""Fixtures of the integration tests: keepers whose turns run on every backend."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.turn.keepers import Keepers
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.stores import OpenAnother


@pytest_asyncio.fixture
async def keepers(open_another: OpenAnother, clock: FakeClock) -> AsyncIterator[Keepers]:
    """Opens keepers on the data of the test, and closes them."""
    opened = Keepers(open_another, clock)
    yield opened
    await opened.close()
