"""What talks to providers is tested under both event loops."""

import asyncio

import pytest

from tests.loops import BOTH


def pytest_asyncio_loop_factories(item: pytest.Item) -> object:
    is_talking = item.path.stem in ("test_endpoint", "test_provider_model")
    return BOTH if is_talking else {"asyncio": asyncio.new_event_loop}
