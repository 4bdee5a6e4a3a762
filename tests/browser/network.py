"""A network between a browser and a server that can be cut: connections break off, and new ones are refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Network:
    """Passes connections on while it is whole. `url` is where a browser finds the server, cut or not."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.url = ""
        self._listening: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def mend(self) -> None:
        """Let connections through, from now on."""
        self._listening = await asyncio.start_server(self._handle, "127.0.0.1", urlsplit(self.url).port or 0)
        self.url = f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection off, and let no other through."""
        if self._listening is not None:
            self._listening.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            back, forth = await asyncio.open_connection(urlsplit(self.server).hostname, urlsplit(self.server).port)
            asking = asyncio.create_task(_pass_on(reader, forth))
            await _pass_on(back, writer)
            asking.cancel()
            forth.close()
        except ConnectionError:
            pass  # the server is away
        finally:
            self._writers.discard(writer)
            writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass  # one of the two has left


@asynccontextmanager
async def network(server: str) -> AsyncIterator[Network]:
    """A network before a server."""
    between = Network(server)
    await between.mend()
    try:
        yield between
    finally:
        between.cut()
