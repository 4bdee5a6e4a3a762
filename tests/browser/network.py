"""A network between a browser and a server that can be cut: connections break off, and new ones are refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Network:
    """Passes connections on while it is whole. `url` is where a browser finds the server, cut or not."""

    def __init__(self, server: str) -> None:
        self.url = ""
        self._server = urlsplit(server)
        self._listening: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def mend(self) -> None:
        """Let connections through, from now on."""
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", urlsplit(self.url).port or 0)
        self.url = f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    async def cut(self) -> None:
        """Break every connection off, and let no other through."""
        if self._listening is not None:
            self._listening.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._carry(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, both ways, until one side leaves or the network is cut."""
        ends = [writer]
        try:
            back, forth = await asyncio.open_connection(self._server.hostname, self._server.port)
            ends.append(forth)
            async with asyncio.TaskGroup() as both:
                asking = both.create_task(_pass_on(reader, forth))
                answering = both.create_task(_pass_on(back, writer))
                asking.add_done_callback(lambda _: answering.cancel())
                answering.add_done_callback(lambda _: asking.cancel())
        except ConnectionError:
            pass  # the server is away
        finally:
            for end in ends:
                end.transport.abort()


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
        await between.cut()
