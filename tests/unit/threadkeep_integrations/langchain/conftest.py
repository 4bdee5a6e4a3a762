"""All tests of this folder run under both event loops."""

from tests.loops import BOTH


def pytest_asyncio_loop_factories() -> object:
    return BOTH
