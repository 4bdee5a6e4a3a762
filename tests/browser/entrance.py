"""What signs people in in front of a server, as an ingress or an authenticating proxy does: it adds headers to all that
their browsers ask."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.acceptance.proxy import pass_on
from tests.browser.server import free_port


@contextmanager
def entrance(server: str, shown: Mapping[str, str]) -> Iterator[str]:
    """Let everybody at an address of its own, which it yields, ask a server with these headers."""
    loop, port, over, ready = asyncio.new_event_loop(), free_port(), asyncio.Event(), threading.Event()
    parts, added = urlsplit(server), "".join(f"{name}: {value}\r\n" for name, value in shown.items())

    # The loop alone would let go of a connection on which nothing happens.
    passing: set[asyncio.Task[None]] = set()

    def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passing.add(task := asyncio.create_task(pass_both(reader, writer)))
        task.add_done_callback(passing.discard)

    async def pass_both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            kept = [line for line in lines if not line.lower().startswith(b"connection:")]
            back, forth = await asyncio.open_connection(parts.hostname, parts.port)
            # One request for each connection: what comes behind it is its body.
            forth.write(b"\r\n".join([first, f"{added}Connection: close".encode(), *kept]))
            asking = asyncio.create_task(pass_on(reader, forth))
            try:
                await pass_on(back, writer)
            finally:
                asking.cancel()
                await asyncio.wait((asking,))
                forth.close()
        writer.close()

    async def run() -> None:
        listening = await asyncio.start_server(let_in, "127.0.0.1", port)
        ready.set()
        await over.wait()
        listening.close()
        await asyncio.gather(*(task for task in passing if task.cancel()), return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="entrance")
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
