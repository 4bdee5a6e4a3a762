"""A real Citus for tests: a coordinator and two workers as processes of their own, and fresh databases on all of them.

`THREADKEEP_TEST_CITUS` names the coordinator of another one, by the URL of a superuser in a database where it knows its
workers. A database is lent to one test after the other: one for each would take ten times as long on three machines.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import asyncpg
import pytest

from tests.browser.server import PATIENCE, free_port
from tests.citus_programs import environment, programs
from tests.postgres_server import OWNER, ROLES, SERVER, PostgresServer, Urls, _at, _execute, _fetch, _run
from threadkeep.runtime import migrate
from threadkeep_postgres import pool

NOBODY = "nobody" if os.geteuid() == 0 else None
"""Whom PostgreSQL runs as: never root."""
SHARDS = 2
SPANNING = {"tenants"}
"""Who may look at more than one shard: the one question about all tenants."""
OPTIONS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": "200",
    "max_prepared_transactions": "200",
    "max_worker_processes": "48",
    "max_replication_slots": "32",
    "max_wal_senders": "32",
    "citus.node_conninfo": "sslmode=prefer",
    "citus.shard_count": str(SHARDS),
    "citus.enable_statistics_collection": "off",
    "fsync": "off",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
}


KNOWN_ROLES = (
    f"CREATE TABLE known_roles (); GRANT SELECT ON known_roles TO threadkeep_server, {OWNER}, {SERVER}",
    "SELECT create_reference_table('known_roles')",
    "DROP TABLE known_roles",
)
_TOLD = f""";
SET citus.enable_alter_role_set_propagation = off;
ALTER ROLE {SERVER} SET citus.multi_task_query_log_level = 'notice'
"""
_EMPTY = """
SET lock_timeout = '10s';
SET citus.max_adaptive_executor_pool_size = 1;
DELETE FROM threadkeep.login;
DO $$
DECLARE used regclass;
BEGIN
    FOR used IN
        SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r'
          AND c.relname NOT IN ('login', 'migration', 'definition', 'secret', 'pulse', 'test_clock')
    LOOP
        EXECUTE 'DELETE FROM ' || used;
    END LOOP;
END $$
"""
_CLOSE = """
ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false;
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'
"""


class Node:
    """One PostgreSQL with Citus, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._programs = programs()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """How its superuser reaches it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return self.folder.with_suffix(".log").read_text(encoding="utf-8", errors="replace")

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL to its end."""
        command = [str(self._programs / program), *arguments]
        variables = environment(self._programs)
        subprocess.run(command, user=NOBODY, env=variables, check=True, capture_output=True, timeout=PATIENCE)

    def make(self) -> None:
        """Make an empty one and start it."""
        self.run("initdb", "-D", str(self.folder), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8")
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with self.folder.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder, "-c", f"port={self.port}", *settings],
                user=NOBODY,
                env=environment(self._programs),
                start_new_session=True,
                stderr=log,
            )
        asks = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(asks, env=environment(self._programs), check=False).returncode != 0:
            assert self._process.poll() is None, self.log

    def follow(self, other: "Node") -> None:
        """Begin anew as the synchronous standby of another one."""
        self.kill()
        shutil.rmtree(self.folder)
        source = ["--host=127.0.0.1", f"--port={other.port}", "--username=postgres"]
        self.run("pg_basebackup", "-D", str(self.folder), *source, "--write-recovery-conf", "--no-sync")
        self.start()
        for setting in ("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"):
            _run(_execute(other.url, setting))

    def promote(self) -> None:
        """Make a standby one that can be written."""
        self.run("pg_ctl", "promote", "-D", str(self.folder))

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def nodes(count: int) -> Iterator[list[Node]]:
    """Run so many machines that do not know of each other yet."""
    with tempfile.TemporaryDirectory(prefix="tkcitus", ignore_cleanup_errors=True) as name, ExitStack() as running:
        if NOBODY is not None:
            subprocess.run(["chown", NOBODY, name], check=True)
        made = [Node(Path(name) / f"node{number}") for number in range(count)]
        for node in made:
            running.callback(node.kill)
            node.make()
        yield made


class Shards:
    """Which verbs looked at several shards: Citus says so on their connection, also from the machine of a tenant."""

    def __init__(self) -> None:
        self.spanned: set[str] = set()
        self._verbs: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    @contextmanager
    def watched(self) -> Iterator["Shards"]:
        """Listen to the pools of this process."""
        call = pool._Link.call

        async def watched_call(link: pool._Link, verb: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
            if link.connection not in self._verbs:
                link.connection.add_log_listener(self._hear)
            self._verbs[link.connection] = verb
            return await call(link, verb, arguments)

        with patch.object(pool._Link, "call", watched_call):
            yield self

    def _hear(self, connection: Any, said: Any) -> None:
        if "multi-task query" in str(said.message):
            self.spanned.add(self._verbs[connection])


class CitusServer(PostgresServer):
    """A coordinator that knows its workers, and the databases that were made on all of them."""

    def __init__(self, coordinator: str, workers: Sequence[str]) -> None:
        self.workers = workers
        self.shards = Shards()
        self._lent: Urls | None = None
        super().__init__(coordinator)
        for machine in self.machines:
            self.execute(ROLES + _TOLD, machine)

    @classmethod
    @contextmanager
    def start(cls, *, durable: bool = True) -> Iterator["CitusServer"]:
        """Run one of our own, or use the one that the environment names."""
        if elsewhere := os.environ.get("THREADKEEP_TEST_CITUS"):
            server = cls(elsewhere, _workers_of(elsewhere))
            try:
                with server.shards.watched():
                    yield server
            finally:
                server.drop_databases()
            return
        with nodes(3) as (coordinator, *workers):
            server = cls(coordinator.url, [worker.url for worker in workers])
            with server.shards.watched():
                yield server

    @property
    def machines(self) -> list[str]:
        """Return where a superuser reaches the coordinator and its workers."""
        return [self.admin, *self.workers]

    @contextmanager
    def watched_database(self) -> Iterator[Urls]:
        """Lend a migrated database, see that no verb looks at more than one shard, and empty it for the next one."""
        if self._lent is None:
            self._lent = self.fresh_database()
        self.shards.spanned.clear()
        yield self._lent
        self.execute(_EMPTY, self.as_admin(self._lent))
        assert self.shards.spanned <= SPANNING

    def fresh_database(self, *, migrated: bool = True) -> Urls:
        """Make a database that nobody used yet, on each machine."""
        if not migrated:
            urls = self._make("template0")
            self.join(urls)
            return urls
        if self._template is None:
            urls = self._make("template0")
            self.join(urls)
            _run(migrate(urls.owner))
            self._template = self._made[-1]
            for machine in self.machines:
                self.execute(_CLOSE.format(name=self._template), machine)
        return self._make(self._template)

    def drop_databases(self) -> None:
        """Remove every database that was made here."""
        while self._made:
            self._drop(self._made.pop())

    def drop(self, urls: Urls) -> None:
        """Remove one from each machine."""
        name = urlsplit(urls.owner).path[1:]
        self._made.remove(name)
        self._drop(name)

    def _drop(self, name: str) -> None:
        for machine in self.machines:
            self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", machine)

    def _make(self, template: str) -> Urls:
        name = next(self._names)
        for machine in self.machines:
            self.execute(f"CREATE DATABASE {name} TEMPLATE {template} OWNER {OWNER}", machine)
        self._made.append(name)
        return Urls(_at(self.admin, name, OWNER), _at(self.admin, name, SERVER))

    def empty_database(self) -> Urls:
        """Make a database without anything on each machine; they do not know of each other."""
        return self._make("template0")

    def prepare(self, machine: str, urls: Urls) -> None:
        """Make a database on a machine that is to join."""
        name = urlsplit(urls.owner).path[1:]
        self.execute(ROLES, machine)
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0 OWNER {OWNER}", machine)
        self.execute("CREATE EXTENSION citus", _at(machine, name))

    def join(self, urls: Urls, roles: Sequence[str] = KNOWN_ROLES) -> None:
        """Let the machines know each other in a database, as the docs say."""
        for machine in self.machines:
            self.execute("CREATE EXTENSION citus", _at(machine, urlsplit(urls.owner).path[1:]))
        for number, machine in enumerate(self.machines):
            function, parts = "citus_add_node" if number else "citus_set_coordinator_host", urlsplit(machine)
            self.execute(f"SELECT {function}('{parts.hostname}', {parts.port})", self.as_admin(urls))
        for statement in roles:
            self.execute(statement, self.as_admin(urls))


def _workers_of(coordinator: str) -> list[str]:
    """Return where the superuser of a coordinator reaches its workers."""
    parts = urlsplit(coordinator)
    login = parts.netloc.rpartition("@")[0]
    found = _run(_fetch(coordinator, "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid"))
    assert found, f"the coordinator at {parts.hostname} knows no workers in {parts.path[1:]}"
    return [parts._replace(netloc=f"{login}@{name}:{port}").geturl() for name, port in found]


@pytest.fixture(scope="session")
def citus_server() -> Iterator[CitusServer]:
    """One Citus for the whole session of tests."""
    with CitusServer.start() as server:
        yield server
