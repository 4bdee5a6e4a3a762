"""Where a database is: its URL, the options in it that are ours, its hosts, and how to connect to them.

Behind PgBouncer in transaction mode every transaction may be on another connection: nothing in this folder sets
anything for a session, and what a connection is to begin with is left out where a pooler refuses it.
"""

import logging
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import asyncpg

from threadkeep.errors import InvalidStoreUrl
from threadkeep_postgres.faults import FAULTS, refuses_settings, translate
from threadkeep_postgres.hosts import Hosts

logger = logging.getLogger("threadkeep.store.postgres.address")

CONNECT_SECONDS = 3.0
"""How long each host may take."""
POOL_SIZE = 32
"""How many connections are opened at most, when they are needed, unless the URL says `pool_size=...`."""
_NAME = {"application_name": "threadkeep"}
_SETTINGS = {**_NAME, "synchronous_commit": "on", "lock_timeout": "3s", "jit": "off"}
_SOCKET_OPTIONS = {"TCP_USER_TIMEOUT": 5000, "TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}
"""After some ten seconds without a sign of the other side a connection is closed, whether or not it is used."""


class _Connection(asyncpg.Connection):
    """Knows what its siblings have found out about the types of the schema, which takes some ten milliseconds."""

    known_types: dict[frozenset[int], Any]

    async def _introspect_types(self, typeoids: Iterable[int], timeout: float) -> Any:
        wanted = frozenset(typeoids)
        if wanted not in self.known_types:
            async with self.transaction():
                # Citus hides its tables by looking at every row of the catalogue: eight seconds instead of one tenth.
                await self.execute("SET LOCAL citus.override_table_visibility = off")
                self.known_types[wanted] = await super()._introspect_types(typeoids, timeout)  # type: ignore[misc]
        return self.known_types[wanted]


class Address:
    """The address of a database, as a URL gives it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.pool_size = _pool_size(options.pop("pool_size", str(POOL_SIZE)))
        self.is_prepared = _switch("prepared_statements", options.pop("prepared_statements", "on"))
        self._direct = options.pop("direct", None)
        self._notifications = options.pop("notifications", "on")
        self._replicas = [host for host in options.pop("replicas", "").split(",") if host]
        if "," in options.get("host", ""):
            raise InvalidStoreUrl("Several hosts stand before the database: postgresql://user@one:5432,two:5432/name.")
        self._user, self._at, hosts = parts.netloc.rpartition("@")
        self.name = hosts
        self._names = hosts.split(",")
        self._hosts = Hosts(self._names, self._connect_to) if len(self._names) > 1 else None
        if self._hosts is not None:
            options.setdefault("target_session_attrs", "read-write")
        self._rest = f"{parts.path}?{urlencode(options)}" if options else parts.path
        self._settings = _SETTINGS
        self._known_types: dict[frozenset[int], Any] = {}
        self.connect_seconds = CONNECT_SECONDS

    def urls(self) -> list[str]:
        """Return the URL of each host, without what is ours."""
        return [self._url(host) for host in self._names]

    def direct(self) -> "Address":
        """Return the address past a pooler: the one that the URL calls `direct`, if it does."""
        return self if self._direct is None else Address(self._url(quote(self._direct, safe=",:[]")))

    def notifications(self) -> "Address | None":
        """Return where servers notify each other: past a pooler, at a PostgreSQL of its own, or nowhere."""
        match self._notifications:
            case "on":
                return self.direct()
            case "off":
                return None
            case host:
                return Address(self._url(quote(host, safe=",:[]")))

    def replicas(self) -> list[str]:
        """Return the URLs of the hosts that the URL calls `replicas`: they may only be read."""
        ours = {"target_session_attrs": "any", "pool_size": self.pool_size}
        ours["prepared_statements"] = "on" if self.is_prepared else "off"
        return [_with(self._url(quote(host, safe=":[]")), **ours) for host in self._replicas]

    def stop_preparing(self) -> None:
        """Work without prepared statements from now on, because a pooler does not know them."""
        if self.is_prepared:
            logger.warning("prepared statements do not hold behind this pooler: set prepared_statements=off in the URL")
        self.is_prepared = False

    def doubt(self) -> None:
        """Find out anew which of several hosts is the primary: a connection was lost."""
        if self._hosts is not None:
            self._hosts.doubt()

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """Open one connection, of several hosts to the primary."""
        try:
            return await (self._connect_to(self._names[0]) if self._hosts is None else self._hosts.connect())
        except (asyncpg.ClientConfigurationError, ValueError) as error:
            raise InvalidStoreUrl(f"The URL of the database is not valid: {error}.") from None
        except FAULTS as error:
            raise translate(error) from error

    async def _connect_to(self, host: str) -> "asyncpg.Connection[asyncpg.Record]":
        try:
            connection = await self._open(host)
        except asyncpg.PostgresError as error:
            if self._settings is _NAME or not refuses_settings(error):
                raise
            self._settings = _NAME
            connection = await self._open(host)
        _watch_over(connection)
        return connection

    async def _open(self, host: str) -> "asyncpg.Connection[asyncpg.Record]":
        # What the driver prepares by itself has names that other processes give to other statements.
        connection = await asyncpg.connect(
            self._url(host),
            timeout=self.connect_seconds,
            server_settings=self._settings,
            statement_cache_size=0,
            connection_class=_Connection,
        )
        connection.known_types = self._known_types
        return connection

    def _url(self, host: str) -> str:
        return f"postgresql://{self._user}{self._at}{host}{self._rest}"


def _watch_over(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let the system find out that the other side is gone. The driver has no option for this."""
    peer = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]
    if peer.family in (socket.AF_INET, socket.AF_INET6):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _SOCKET_OPTIONS.items():
            if hasattr(socket, name):
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _with(url: str, **options: object) -> str:
    """Return a URL with these options instead of those of the same names."""
    parts = urlsplit(url)
    return parts._replace(query=urlencode(dict(parse_qsl(parts.query)) | options)).geturl()


def _pool_size(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= 1000:
        raise InvalidStoreUrl("pool_size is a number from 1 to 1000.")
    return int(value)


def _switch(name: str, value: str) -> bool:
    if value not in ("on", "off"):
        raise InvalidStoreUrl(f"{name} is on or off.")
    return value == "on"
