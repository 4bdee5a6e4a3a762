"""Counting what the clock cannot show: fsyncs by strace, round trips to PostgreSQL by a socket in between."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit, urlunsplit


def fsyncs(module: str, *arguments: str) -> int | None:
    """Return how many fsyncs a Python module makes when it runs; None where strace is not installed."""
    if shutil.which("strace") is None:
        return None
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        command = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(trace)]
        subprocess.run([*command, sys.executable, "-m", module, *arguments], check=True)
        return len(re.findall(r"\b(?:fsync|fdatasync)\(", trace.read_text()))


class RecordRequests:
    """How often a client asked and the server answered."""

    def __init__(self) -> None:
        self.count = 0
        self._asking = False

    async def pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, asks: bool) -> None:
        """Pass bytes on, and count each time the direction turns from answering to asking."""
        with suppress(ConnectionError):
            while data := await source.read(65536):
                self.count += asks and not self._asking
                self._asking = asks
                sink.write(data)
                await sink.drain()
        sink.close()


@asynccontextmanager
async def counted(url: str) -> AsyncIterator[tuple[str, RecordRequests]]:
    """Yield a URL that leads to the same database through a socket which counts round trips."""
    parts = urlsplit(url)
    socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.{parts.port or 5432}"
    trips = RecordRequests()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_unix_connection(socket)
        await asyncio.gather(trips.pump(reader, to_writer, asks=True), trips.pump(to_reader, writer, asks=False))

    with TemporaryDirectory() as folder:
        server = await asyncio.start_unix_server(connected, os.path.join(folder, ".s.PGSQL.5432"))
        async with server:
            yield urlunsplit(parts._replace(query=f"host={folder}")), trips
