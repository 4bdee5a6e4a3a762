"""The four backends as tests see them: a place for each, opened by URL as a user would, any number of times."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.database_clock import DatabaseClock
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock

BACKENDS = ("sqlite", "postgresql", "files", "memory")
ON_DISK = ("sqlite", "postgresql", "files")
EACH_WAY = tuple(zip(BACKENDS, (*BACKENDS[1:], BACKENDS[0]), strict=True))
"""Each backend once as the source and once as the target of a transfer, which does not know what it goes between."""

Opener = Callable[[Clock], Coroutine[Any, Any, Store]]


class OneStore:
    """A store in memory: all handles on its data are one."""

    def __init__(self) -> None:
        self._store: Store | None = None

    async def __call__(self, clock: Clock = utc_now) -> Store:
        if self._store is None:
            self._store = await open_store("memory:", clock=clock)
        return self._store


class AtUrl:
    """A store behind a URL: every handle is opened for itself."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def __call__(self, clock: Clock = utc_now) -> Store:
        return await open_store(self.url, clock=clock)


class InDatabase(AtUrl):
    """A store in PostgreSQL, whose time passes with the clock of the test, if that one stands still."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        urls = request.getfixturevalue("postgres_database")
        super().__init__(urls.server)
        self._owner = urls.owner
        self._is_led = False

    async def __call__(self, clock: Clock = utc_now) -> Store:
        if isinstance(clock, FakeClock) and not self._is_led:
            database = DatabaseClock(self._owner)
            self._request.addfinalizer(database.close)
            clock.lead(database)
            self._is_led = True
        return await super().__call__(clock)


def url_of(backend: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Return the URL of an empty store of this backend; PostgreSQL is started only if a test needs it."""
    match backend:
        case "postgresql":
            return str(request.getfixturevalue("postgres_database").server)
        case "sqlite":
            return f"sqlite:///{folder / 'threadkeep.db'}"
        case "files":
            return f"files:///{folder / 'conversations'}"
        case _:
            raise AssertionError(f"{backend} has no URL of its own")


def opener(backend: str, folder: Path, request: pytest.FixtureRequest) -> Opener:
    """Return what opens handles on one empty store of this backend."""
    match backend:
        case "memory":
            return OneStore()
        case "postgresql":
            return InDatabase(request)
        case _:
            return AtUrl(url_of(backend, folder, request))
