"""A receiver of webhooks on a real socket: what comes is verified by the published library, and answered as wanted."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

SECRET = "whsec_" + "c2VjcmV0" * 6
PRIVATE = ["127.0.0.0/8", "::1/128"]


class Receiver:
    """Knows each event that was taken, in order, with its id; `answers` says with which status one is answered."""

    def __init__(self) -> None:
        self.url = ""
        self.secret = SECRET
        self.taken: list[tuple[str, dict[str, Any]]] = []
        self.tried = 0
        self.answers: Callable[[dict[str, Any]], int] = lambda event: 200
        self._changed = threading.Condition()

    def receive(self, headers: dict[str, str], body: str) -> int:
        """Take an event, if its signature holds."""
        event = Webhook(self.secret).verify(body, headers)
        status = self.answers(event)
        with self._changed:
            self.tried += 1
            if 200 <= status < 300:
                self.taken.append(({name.lower(): value for name, value in headers.items()}["webhook-id"], event))
            self._changed.notify_all()
        return status

    def wait(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait in a thread until something is so."""
        with self._changed:
            assert self._changed.wait_for(holds, seconds), (self.tried, [event["type"] for _, event in self.taken])

    def types(self, conversation: str | None = None) -> list[str]:
        """Return the types of what was taken, each event once, in the order in which they first came."""
        events = dict(reversed([(id, event) for id, event in self.taken]))
        first = [events[id] for id in dict.fromkeys(id for id, _ in self.taken)]
        return [each["type"] for each in first if conversation in (None, each["data"].get("conversation"))]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Serve on a free port."""
    receiver = Receiver()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self.send_response(receiver.receive(dict(self.headers.items()), body))
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_request(self, *args: Any) -> None:
            """Tell nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()


def settings_of(receiver: Receiver, tenant: str = "local", **more: Any) -> dict[str, Any]:
    """Return the table of settings with which what happens in a tenant is sent there."""
    target = {"url": receiver.url, "secret": receiver.secret, "tenant": tenant}
    return json.loads(json.dumps({"targets": {"app": target}, "private": PRIVATE, **more}))  # type: ignore[no-any-return]
