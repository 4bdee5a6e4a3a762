"""The wire between a browser and a server: passes everything on, and counts what the browser is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Wire:
    """Bytes that came down so far, headers and all."""

    def __init__(self, port: int) -> None:
        self.down = 0
        self._port = port
        self._open: set[asyncio.Task[None]] = set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on until either side closes it."""
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        up = asyncio.create_task(self._pass(reader, back, counts=False))
        down = asyncio.create_task(self._pass(there, writer, counts=True))
        self._open |= {up, down}
        await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        for end in (writer, back):
            end.close()
        self._open -= {up, down}

    async def settle(self, quiet: float = 1.0) -> int:
        """Wait until nothing comes any more, and return how much it was."""
        before = -1
        while before != self.down:
            before = self.down
            await asyncio.sleep(quiet)
        return self.down

    def cut(self) -> None:
        """End every connection that is still open."""
        for task in self._open:
            task.cancel()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, counts: bool) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                self.down += len(data) if counts else 0
                target.write(data)
                await target.drain()


@asynccontextmanager
async def wired(port: int) -> AsyncIterator[tuple[Wire, int]]:
    """Put a wire before a server for a while, and return it with the port that it listens on."""
    wire = Wire(port)
    server = await asyncio.start_server(wire.connect, "127.0.0.1", 0)
    try:
        yield wire, server.sockets[0].getsockname()[1]
    finally:
        wire.cut()
        server.close()
