"""A real PgBouncer in transaction mode before the test server: whatever a session sets, others would find.

The system's own is used, and beside it the one in the tarball that `PGBOUNCER_TARBALL` names, if it is there: it knows
prepared statements, which Debian's is too old for. With `THREADKEEP_TEST_PGBOUNCER=1` all tests reach their databases
through the newest one that there is.
"""

import atexit
import os
import pwd
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import which
from urllib.parse import parse_qs, quote, urlsplit

from tests.browser.server import ROOT

OLD = which("pgbouncer") or "/usr/sbin/pgbouncer"
TARBALL = Path(os.environ.get("PGBOUNCER_TARBALL", ROOT.parent / "shared/citus/pgbouncer-1.25.2-bookworm-amd64.tar.xz"))
CONFIG = """
[databases]
* = {server} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
server_idle_timeout = 1
"""
PREPARED = "max_prepared_statements = 200\n"


def programs() -> list[str]:
    """Return which there are: the system's, and the one in the tarball."""
    return ["old", "new"] if TARBALL.exists() else ["old"]


@cache
def _unpacked() -> Path:
    """Unpack the tarball, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="tkpgb"))
    atexit.register(shutil.rmtree, folder)
    with tarfile.open(TARBALL) as tar:
        tar.extractall(folder, filter="data")
    return next(folder.glob("*/pgbouncer"))


@contextmanager
def pooled(url: str, program: str = "old") -> Iterator[int]:
    """Run a PgBouncer that has few connections for the many that it takes; yield its port.

    It passes everybody on as the role of this URL. It takes no parameters at the start of a connection; the old one
    knows nothing of prepared statements, the new one does.
    """
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host", [""])[0]
    server = f"host={folder or parts.hostname} port={parts.port or 5432}"
    with tempfile.TemporaryDirectory(prefix="tkpgb") as place, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        config = Path(place) / "pgbouncer.ini"
        text = CONFIG.format(server=server, user=parts.username, password=parts.password, port=port)
        config.write_text(text + PREPARED * (program == "new"))
        Path(place).chmod(0o755)
        with subprocess.Popen(
            [OLD if program == "old" else _unpacked(), *_as_user(folder), config], stderr=subprocess.DEVNULL
        ) as process:
            try:
                _wait_for(port)
                yield port
            finally:
                process.kill()


def _as_user(folder: str) -> list[str]:
    """Return whom it runs as: not root, but the owner of the folder with the server's socket, who alone may look in."""
    if os.geteuid() != 0:
        return []
    return ["-u", pwd.getpwuid(Path(folder).stat().st_uid).pw_name if folder else "nobody"]


def through(url: str, port: int) -> str:
    """Return the URL of a database through the PgBouncer at this port."""
    return re.sub(r"@[^/]*/([^?]*).*", rf"@127.0.0.1:{port}/\1", url)


def direct(url: str) -> str:
    """Return the option by which a URL tells where the database is past a pooler."""
    parts = urlsplit(url)
    return "direct=" + quote(parse_qs(parts.query).get("host", [parts.netloc.rpartition("@")[2]])[0], safe="")


def _wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
