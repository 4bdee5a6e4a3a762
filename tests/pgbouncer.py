"""A real PgBouncer in transaction mode before the test server: whatever a session sets, others would find."""

import os
import pwd
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from urllib.parse import parse_qs, urlsplit

_PROGRAM = which("pgbouncer") or "/usr/sbin/pgbouncer"
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


@contextmanager
def pooled(url: str) -> Iterator[int]:
    """Run a PgBouncer that has few connections for the many that it takes; yield its port.

    It passes everybody on as the role of this URL. By default it takes no parameters at the start of a connection and,
    before 1.21, knows nothing of prepared statements.
    """
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host", [""])[0]
    server = f"host={folder or parts.hostname} port={parts.port or 5432}"
    with tempfile.TemporaryDirectory(prefix="tkpgb") as place, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        config = Path(place) / "pgbouncer.ini"
        config.write_text(CONFIG.format(server=server, user=parts.username, password=parts.password, port=port))
        Path(place).chmod(0o755)
        with subprocess.Popen([_PROGRAM, *_as_user(folder), config], stderr=subprocess.DEVNULL) as process:
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
