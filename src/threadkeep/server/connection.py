"""One connection of a client, on top of uvicorn's protocol, with a limit for everything that a client can delay.

A request must arrive within a time and a size, and an answer must be read within a time. When the connection ends,
every request on it ends, also pipelined ones. Invalid HTTP is answered with a problem, like any other error.
"""

import asyncio
import gc
import ipaddress
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from threadkeep.server.problems import problem

logger = logging.getLogger(__name__)

PEER = "threadkeep.peer"
"""Where a request's scope has the address that the connection came from, whatever a proxy says of its client."""
MOST_HEAD_BYTES = 64 * 1024
MOST_QUEUED = 16
"""How many requests may be sent before the first of them is answered."""
LEAST_BYTES_PER_SECOND = 10 * 1024
"""A body that arrives slower than this times out."""
TELL_EVERY = 10.0
"""Seconds between two lines that say that connections are refused."""
GC_THRESHOLDS = (10_000, 3, 500)


def connections_within(open_files: int) -> int:
    """Return how many connections leave enough open files for the store, tools and connections to models."""
    return open_files * 3 // 4


class TooManyConnectionsError(Exception):
    """There are too many connections."""


class ConnectionLimits:
    """Counts the connections of one server, in all and from one address; 0 is no limit.

    `trusted` are addresses and networks of proxies: they stand for many clients, so only the total limits them.
    """

    def __init__(self, most: int = 0, most_of_address: int = 0, trusted: Sequence[str] = ()) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._trusted = [ipaddress.ip_network(each, strict=False) for each in trusted]
        self._open: Counter[str] = Counter()
        self._refused = 0
        self._told_at = -TELL_EVERY
        self.open = 0

    def enter(self, address: str) -> Callable[[], None]:
        """Take a place for a connection and return the function that frees it; `TooManyConnectionsError` if full."""
        if 0 < self._most <= self.open:
            self._refuse(f"At most {self._most} connections are open at a time.", address)
        if 0 < self._most_of_address <= self._open[address] and not self._is_trusted(address):
            self._refuse(f"At most {self._most_of_address} of them may come from one address.", address)
        self.open += 1
        self._open[address] += 1

        def leave() -> None:
            self.open -= 1
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]

        return leave

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)

    def _refuse(self, reason: str, address: str) -> NoReturn:
        """Refuse a connection, and log that at most once every `TELL_EVERY` seconds."""
        self._refused += 1
        if time.monotonic() - self._told_at >= TELL_EVERY:
            logger.warning("%d connections refused, the last one from %s: %s", self._refused, address, reason)
            self._refused, self._told_at = 0, time.monotonic()
        raise TooManyConnectionsError(reason)


class Connection(HttpToolsProtocol):
    """The HTTP protocol class that `threadkeep serve` passes to uvicorn."""

    head_seconds = 15.0
    """How long a request may take from its first byte to the end of its head, and a new connection may be silent."""
    body_seconds = 30.0
    """How long its body may take, in addition to the time that its size allows."""
    reader_seconds = 60.0
    """How long a client may read nothing of what was sent to it."""

    def __init__(self, *given: Any, limits: ConnectionLimits | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limits = limits or ConnectionLimits()
        self._leave: Callable[[], None] = lambda: None
        self._running: RequestResponseCycle | None = None
        self._is_head = False
        self._head_bytes = 0
        self._ignores_input = False
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._reader_timer: asyncio.TimerHandle | None = None

    # The life of the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        _send_at_once(transport)
        try:
            self._leave = self._limits.enter(self.client[0] if self.client else "")
        except TooManyConnectionsError as refusal:
            self._hang_up_with_problem(503, "too_many_connections", str(refusal))
        else:
            self._set_deadline(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """End everything that was asked for on it."""
        self._leave()
        self._stop_timer()
        self._stop_reader_timer()
        for cycle in (self._running, *(queued for queued, _ in self.pipeline)):
            if cycle is not None:
                _end(cycle)
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrived. Reading goes on while a request is answered, to notice when the client leaves."""
        self._unset_keepalive_if_required()
        if self._ignores_input:
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Upgrades are not supported: the request is answered as if it had not asked for one.
            self._stop_listening()
        except httptools.HttpParserError:
            self._refuse_with_problem(400, "invalid_http", "This is no HTTP request.")
        if self._is_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse_with_problem(
                    431, "head_too_large", f"The head of a request has at most {MOST_HEAD_BYTES} bytes."
                )
        elif self._timer is None and self._is_idle:
            self._set_deadline(self.head_seconds)

    @property
    def _is_idle(self) -> bool:
        # uvicorn's type does not say that it is None before the first request.
        newest: RequestResponseCycle | None = self.cycle
        return newest is None or newest.response_complete

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self._is_head, self._head_bytes = True, 0
        if self._timer is None:
            self._set_deadline(self.head_seconds)
        super().on_message_begin()
        self.scope[PEER] = self.client  # type: ignore[literal-required]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; proxies write the scheme in any case, and uvicorn knows it in lower case only."""
        super().on_header(name, value.lower() if name.lower() == b"x-forwarded-proto" else value)

    def on_headers_complete(self) -> None:
        """Begin to wait for the body; a pipelined request waits until the one before it is answered."""
        self._is_head = False
        super().on_headers_complete()
        self._set_deadline(self.body_seconds)
        if self.pipeline:
            self.flow.resume_reading()
            if len(self.pipeline) > MOST_QUEUED:
                self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """Pass the body on; that of a pipelined request is buffered only up to a limit."""
        self._deadline += len(body) / LEAST_BYTES_PER_SECOND
        super().on_body(body)
        if self.pipeline and len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.transport.abort()

    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()

    def _should_upgrade(self) -> bool:
        return False

    # Callbacks of uvicorn

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request; abort a closing connection if the client does not read the answer in time."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_reader_timer()

    def timeout_keep_alive_handler(self) -> None:
        self._start_reader_timer()
        super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_reader_timer()

    def resume_writing(self) -> None:
        self._stop_reader_timer()
        super().resume_writing()

    # Time

    def _set_deadline(self, seconds: float) -> None:
        """Give the client so long for what it has to send next."""
        self._stop_timer()
        self._deadline = self.loop.time() + seconds
        self._timer = self.loop.call_at(self._deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        if self.flow.read_paused:  # it waits for us
            self._set_deadline(self.body_seconds)
        elif self.loop.time() < self._deadline:
            self._timer = self.loop.call_at(self._deadline, self._check_deadline)
        elif self._is_idle and not self._is_head:
            self.timeout_keep_alive_handler()
        else:
            self._refuse_with_problem(408, "request_timeout", "The request did not arrive in time.")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_reader_timer(self) -> None:
        self._stop_reader_timer()
        self._reader_timer = self.loop.call_later(self.reader_seconds, self.transport.abort)

    def _stop_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    # Refusing

    def _stop_listening(self) -> None:
        """Ignore all further input; the connection ends when the requests so far are answered."""
        self._ignores_input = True
        self._is_head = False
        self._stop_timer()
        if not self._is_idle:
            self.cycle.keep_alive = False

    def _refuse_with_problem(self, status: int, code: str, detail: str) -> None:
        """Answer with a problem and close the connection, after the complete requests before it are answered."""
        if self.transport.is_closing():
            return
        is_body = not self._is_head and not self._is_idle and self.cycle.more_body
        if is_body and self.cycle is self._running:
            if self.cycle.response_started:
                self.transport.abort()
            else:
                self._hang_up_with_problem(status, code, detail)
            return
        if is_body:
            self.pipeline.popleft()
            self.cycle = self.pipeline[0][0] if self.pipeline else self._running  # type: ignore[assignment]
        if self._is_idle:
            self._hang_up_with_problem(status, code, detail)
        else:
            self._stop_listening()

    def _hang_up_with_problem(self, status: int, code: str, detail: str) -> None:
        """Write a problem directly to the connection and close it; a request that is being handled is ended."""
        self._stop_listening()
        if self._running is not None:
            _end(self._running)
        answer = problem(status, code, detail, {"Connection": "close"})
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self._start_reader_timer()
        self.transport.close()


def _end(cycle: RequestResponseCycle) -> None:
    """Tell the application that the client of a request has gone."""
    if not cycle.response_complete:
        cycle.disconnected = True
        cycle.message_event.set()


def _send_at_once(transport: asyncio.Transport) -> None:
    """Set TCP_NODELAY, so that small answers are sent at once; asyncio does not for this kind of listener."""
    connected: socket.socket | None = transport.get_extra_info("socket")
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def tune_garbage_collector() -> None:
    """Make Python's garbage collector pause the server rarely and shortly; call it when everything is set up.

    A full collection takes a tenth of a second with a thousand streams. Objects made at the start live as long as the
    process, so they are excluded; all others are collected less often, but the young ones before they are many.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
