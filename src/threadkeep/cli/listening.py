"""The socket of `threadkeep serve`, and uvicorn on it, which may share it with other processes.

uvicorn would take all connections that wait at once, and leave none for the others: here one is taken at a time, by
whoever has time for it.
"""

import asyncio
import errno
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import uvicorn
from fastapi import FastAPI

from threadkeep.errors import InvalidValue
from threadkeep.server.connection import Connection, ConnectionLimits
from threadkeep.settings import Settings

MOST_FILES = 65_536
"""The limit of open files that is asked for; with a larger one the system keeps a larger table."""
LAST_SECONDS = 5
"""How long answers that are under way may take once everything else has stopped."""
IDLE_SECONDS = 75
"""How long a connection waits for its next request: longer than the minute of proxies, which so meet no end."""
AGAIN_SECONDS = 1.0
"""The pause after a connection for which there was no open file."""
CLOSING_SECONDS = 1.0
"""How long clients who ask again on their connection are told to make a new one, before idle ones are closed."""


def raised_file_limit() -> int:
    """Raise the limit of open files, which connections need, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def listen(settings: Settings) -> socket.socket:
    """Listen where the settings say; InvalidValue if that is not possible."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        # What Python adds about the address stands before it already.
        reason = (error.strerror or str(error)).partition(" (while")[0]
        reason += "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        raise InvalidValue(f"cannot listen on {settings.host}:{settings.port}: {reason}") from None
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn without its own signals: it would end at a second Ctrl-C, but never at a second SIGTERM."""

    def __init__(self, app: FastAPI, settings: Settings, limits: ConnectionLimits, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        super().__init__(config)
        self._limits, self._listener = limits, listener
        self._connecting: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._begin()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        await super().shutdown(sockets)

    def _begin(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)

    def _accept(self) -> None:
        """Take one connection; another process may have been faster."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # there is no open file left for it
            self._end()
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._begin)
            return
        task = asyncio.get_running_loop().create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket) -> None:
        make = partial(Connection, self.config, self.server_state, self.lifespan.state, limits=self._limits)
        with suppress(OSError):  # the client has gone already
            await asyncio.get_running_loop().connect_accepted_socket(make, connection)

    async def hand_over(self) -> None:
        """Leave new connections to other processes, and let clients of the present ones go there."""
        self._end()
        closing = (b"connection", b"close")
        self.config.encoded_headers.append(closing)
        self.server_state.default_headers = [*self.server_state.default_headers, closing]
        await asyncio.sleep(CLOSING_SECONDS)
        for connection in list(self.server_state.connections):
            connection.shutdown()
