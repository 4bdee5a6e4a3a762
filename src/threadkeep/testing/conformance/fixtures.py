"""The fixtures of the suite: a clock that stands still, and a store opened by the backend's own `open_another`."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.stores import OpenAnother


@pytest.fixture
def clock() -> FakeClock:
    """The clock that the store under test reads."""
    return FakeClock()


@pytest_asyncio.fixture
async def store(open_another: OpenAnother) -> AsyncIterator[Store]:
    """The store under test, empty."""
    opened = await open_another()
    yield opened
    await opened.close()
