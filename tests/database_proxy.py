"""A proxy before a PostgreSQL server, which can be silent, slow or half-open and cut connections, as networks do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit


class DatabaseProxy:
    """Passes connections on while `is_silent` is not set; then it takes whatever comes and answers nothing."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._login, _, self._address = parts.netloc.rpartition("@")
        self._database = parts.path
        self._folder = parse_qs(parts.query).get("host", [""])[0]
        self._passing = asyncio.Event()
        self._passing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._every = 0
        self._delay = 0.0
        self._is_half_open = False
        self.port = 0
        self.taken = 0
        self.passed = 0
        self.cuts = 0

    def url(self, *more: int, options: str = "") -> str:
        """Return the URL of the database through this proxy, and with more ports through others behind it."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in (self.port, *more))
        return f"postgresql://{self._login}@{hosts}{self._database}{options}"

    def fall_silent(self) -> None:
        """Answer nothing from now on, on all connections, open and new."""
        self._passing.clear()

    def speak(self) -> None:
        """Pass on again, also what came meanwhile."""
        self._is_half_open = False
        self._passing.set()

    def lose_answers(self) -> None:
        """Pass on what the server is asked, but none of its answers; connections of this time never recover."""
        self._is_half_open = True

    def slow_down(self, seconds: float) -> None:
        """Hold every piece for so long."""
        self._delay = seconds

    def cut_often(self, every: int) -> None:
        """Cut every open connection whenever so many pieces were passed on, wherever that meets them."""
        self._every = every

    def _count(self) -> None:
        self.passed += 1
        if self._every and self.passed % self._every == 0:
            self.cuts += 1
            self.cut()

    def cut(self) -> None:
        """Cut every open connection, as when a server dies."""
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        """Cut what is open, and wait until nothing is passed on any more."""
        self.cut()
        self.speak()
        await self._is_empty.wait()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, both ways."""
        self.taken += 1
        try:
            back, forth = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, forth}
        self._is_empty.clear()
        await asyncio.gather(
            self._pass_on(reader, forth), self._pass_on(back, writer, is_answer=True), return_exceptions=True
        )
        for end in (writer, forth):
            self._writers.discard(end)
            end.close()
        if not self._writers:
            self._is_empty.set()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._folder:
            return await asyncio.open_unix_connection(f"{self._folder}/.s.PGSQL.5432")
        host, _, port = self._address.partition(":")
        return await asyncio.open_connection(host, int(port or 5432))

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool = False
    ) -> None:
        is_lost = False
        try:
            while piece := await reader.read(65536):
                await asyncio.sleep(self._delay)
                await self._passing.wait()
                is_lost = is_lost or (is_answer and self._is_half_open)
                if not is_lost:
                    self._count()
                    writer.write(piece)
                    await writer.drain()
        finally:
            writer.transport.abort()


@asynccontextmanager
async def before(url: str) -> AsyncIterator[DatabaseProxy]:
    """A proxy before the server of this URL."""
    proxy = DatabaseProxy(url)
    listening = await asyncio.start_server(proxy.take, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.close()
