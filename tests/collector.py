"""A collector of OpenTelemetry for tests: it takes everything that it is sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread

Sent = Queue[tuple[str, bytes]]


@contextmanager
def collecting() -> Iterator[tuple[str, Sent]]:
    """Run one, and give its endpoint and what it was sent: paths and bodies."""
    sent = Sent()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.put((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_request(self, *_: object) -> None:
            """Say nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()
        thread.join()
