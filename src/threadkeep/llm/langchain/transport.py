"""HTTP/1.1 for the clients of providers: persistent connections, and a parser in C.

It is handed to a vendor's own client, which still decides addresses, keys, headers and time limits. A piece of a
streamed answer costs a third of what it costs with the transport of httpx. Proxies are not supported: where one is set,
the vendor's transport is used.
"""

import asyncio
import ssl
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any, Self

import certifi
import httptools

from threadkeep.llm.base import trace_parent

IDLE = 30.0
"""Seconds that a connection is kept open without a request."""
_BUFFERED = 256 * 1024
"""Unread bytes after which no more are received."""

CONNECTION = "threadkeep.connection"
"""The extension of a response that holds its connection, from which the body can be read without httpx."""
Origin = tuple[str, str, int]


class Connection(asyncio.Protocol):
    """A connection to a provider that carries one exchange at a time."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._loop = asyncio.get_running_loop()
        self.is_reusable = False
        self._transport: Any = None
        self._wait: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._begin_exchange(None)

    def _begin_exchange(self, patience: float | None) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._size = 0
        self._has_head = self._has_end = self.is_reusable = False
        self._error: Exception | None = None
        self._patience = patience
        self._heard_at = self._loop.time()
        self._set_alarm(patience, self._check_silence)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport; asyncio has switched Nagle's algorithm off."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.is_reusable = False
            self._fail(ConnectionError(f"no HTTP: {error}"))
        if self._size > _BUFFERED:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange: in order, if the body has no length and ends with the connection."""
        names = {name for name, _ in self.headers}
        is_open_ended = self._has_head and not names & {b"content-length", b"transfer-encoding"}
        if exc is None and is_open_ended:
            self._has_end = True
        if not self._has_end:
            self._fail(exc or ConnectionError("the connection broke"))
        self.is_reusable = False
        self._wake()

    def on_message_begin(self) -> None:
        """Refuse an answer without a request."""
        if self._has_end:
            raise ConnectionError("an answer without a question")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Note the status; after one below 200 another head follows."""
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= 200
        if not self._has_head:
            self.headers.clear()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._size += len(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._has_end = True
            self.is_reusable = self._parser.should_keep_alive()

    async def send(self, request: bytes, patience: float | None) -> None:
        """Send a request and wait for the head of the answer; `patience` is how long the provider may say nothing."""
        self.headers = []
        self._begin_exchange(patience)
        self._transport.write(request)
        while not self._has_head:
            await self._wait_for_data()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return all of the body that has come since."""
        while not self._pieces:
            if self._has_end:
                raise StopAsyncIteration
            await self._wait_for_data()
        data, self._pieces = b"".join(self._pieces), []
        if self._size > _BUFFERED:
            self._transport.resume_reading()
        self._size = 0
        return data

    def drop(self) -> None:
        self.is_reusable = False
        self._set_alarm(None)
        self._transport.abort()

    def rest(self) -> bool:
        """End an exchange; return whether the connection is kept. An answer that was not read to its end cuts it."""
        if self.is_reusable:
            self._set_alarm(IDLE, self.drop)
        else:
            self.drop()
        return self.is_reusable

    @property
    def is_free(self) -> bool:
        """Whether it can carry another exchange in this event loop."""
        return self.is_reusable and self._loop is asyncio.get_running_loop()

    def _set_alarm(self, seconds: float | None, act: Callable[[], None] | None = None) -> None:
        if self._alarm:
            self._alarm.cancel()
        self._alarm = self._loop.call_later(seconds, act) if seconds and act else None

    async def _wait_for_data(self) -> None:
        if self._error:
            raise self._error
        self._wait = self._loop.create_future()
        await self._wait

    def _wake(self) -> None:
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._wake()

    def _check_silence(self) -> None:
        """Check whether the provider has been silent for too long; one timer serves many pieces."""
        assert self._patience is not None  # noqa: S101 - the alarm exists only with it
        left = self._heard_at + self._patience - self._loop.time()
        if left > 0 or self._size:
            self._set_alarm(max(left, self._patience / 10), self._check_silence)
        else:
            self._fail(TimeoutError(f"nothing came for {self._patience:g} seconds"))


class Transport:
    """A transport for httpx; `http` is the httpx module, or a fork of it, that the vendor's client uses."""

    def __init__(self, http: ModuleType) -> None:
        self._response = http.Response
        self._idle: dict[Origin, list[Connection]] = {}
        self._tls: ssl.SSLContext | None = None
        release = self._release

        class Body(http.AsyncByteStream):  # type: ignore[misc, name-defined]
            """The body of an answer; closing it gives the connection back, or cuts it."""

            def __init__(self, origin: Origin, connection: Connection) -> None:
                self._origin, self._connection = origin, connection

            def __aiter__(self) -> Any:
                return aiter(self._connection)

            async def aclose(self) -> None:
                release(self._origin, self._connection)

        self._body = Body

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, and return the response as soon as its head is there."""
        limits = request.extensions.get("timeout", {})
        url, content = request.url, await request.aread()
        origin = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        head = b"%s %s HTTP/1.1\r\n" % (request.method.encode(), url.raw_path)
        head += b"".join(b"%s: %s\r\n" % header for header in request.headers.raw)
        if parent := trace_parent.get():
            head += b"traceparent: %s\r\n" % parent.encode()
        head += b"\r\n"
        connection = self._kept(origin) or await self._connect(origin, limits.get("connect"))
        try:
            await connection.send(head + content, limits.get("read"))
        except BaseException:
            connection.drop()
            raise
        return self._response(
            connection.status,
            headers=connection.headers,
            stream=self._body(origin, connection),
            extensions={CONNECTION: connection},
        )

    async def aclose(self) -> None:
        for connection in chain.from_iterable(self._idle.values()):
            connection.drop()
        self._idle.clear()

    def _kept(self, origin: Origin) -> Connection | None:
        kept = self._idle.get(origin, [])
        while kept:
            if (connection := kept.pop()).is_free:
                return connection
        return None

    def _release(self, origin: Origin, connection: Connection) -> None:
        if connection.rest():
            self._idle.setdefault(origin, []).append(connection)

    async def _connect(self, origin: Origin, patience: float | None) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._tls is None:
            # The machine's certificates, and certifi's for machines that have none.
            self._tls = ssl.create_default_context()
            self._tls.load_verify_locations(certifi.where())
        tls = self._tls if scheme == "https" else None
        async with asyncio.timeout(patience):
            loop = asyncio.get_running_loop()
            # uvloop, which tries one address after the other, does not know of trying several at once.
            eyeballs: Any = {"happy_eyeballs_delay": 0.25} if isinstance(loop, asyncio.BaseEventLoop) else {}
            connection: Connection
            _, connection = await loop.create_connection(Connection, host, port, ssl=tls, **eyeballs)
        return connection


def lean_client(client: Any) -> Any:
    """Return an HTTP client over this transport, of the same library as one that a vendor's client has."""
    kind = next(kind for kind in type(client).__mro__ if kind.__name__ == "AsyncClient")
    http = import_module(kind.__module__.partition(".")[0])
    return http.AsyncClient(transport=Transport(http), follow_redirects=True, timeout=client.timeout)
