"""A proxy that cuts connections: it passes on so many bytes of an answer, and not one more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class CuttingProxy:
    """Passes connections on to a server. `cut_after` is how many bytes the next answers get; none is no cut."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname, parts.port
        self.cut_after: list[int] = []
        self.cuts = 0
        # The loop alone would let go of a connection on which nothing happens.
        self._open: set[asyncio.Task[None]] = set()

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection."""
        passing = asyncio.create_task(self._pass_both(reader, writer))
        self._open.add(passing)
        passing.add_done_callback(self._open.discard)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the server."""
        return await asyncio.open_connection(self._host, self._port)

    async def close(self) -> None:
        """Cut what is open."""
        for passing in self._open:
            passing.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _pass_both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, both ways, until the answer is cut or ends."""
        left = self.cut_after.pop() if self.cut_after else None
        try:
            back, forth = await self.connect()
        except ConnectionError:
            writer.close()
            return
        asking = asyncio.create_task(pass_on(reader, forth))
        try:
            while piece := await back.read(65536):
                kept = piece if left is None else piece[:left]
                writer.write(kept)
                await writer.drain()
                if left is not None:
                    left -= len(kept)
                    if not left:
                        self.cuts += 1
                        break
        except ConnectionError:
            pass  # one of the two has left
        finally:
            asking.cancel()
            forth.close()
            writer.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()


@asynccontextmanager
async def cutting(server: str) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A proxy before a server, and its URL."""
    proxy = CuttingProxy(server)
    listening = await asyncio.start_server(proxy.begin, "127.0.0.1", 0)
    try:
        yield proxy, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        await proxy.close()
